"""Identifiers and the unit of time.

An `Instant` is an `int`: microseconds since the Unix epoch, UTC. Integers compare, hash and survive a round trip through any store
exactly, which replay depends on. Instants are cluster time unless a name says `wall`.
"""

from __future__ import annotations

Instant = int
Duration = int  # microseconds

MICROSECOND = 1
MILLISECOND = 1_000 * MICROSECOND
SECOND = 1_000 * MILLISECOND
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

#: The last instant that anybody may name: the beginning of the year 2200. Spans can be added to it, and it still fits into 63 bits.
LAST_INSTANT: Instant = 7_258_118_400 * SECOND


def job_id(seq: int) -> str:
    """The id of the job whose JobSubmitted has position `seq`: `j000123`."""
    return f"j{seq:06d}"


def incident_id(seq: int) -> str:
    """The id of the incident whose IncidentOpened has position `seq`: `i000123`."""
    return f"i{seq:06d}"


def plan_id(seq: int) -> str:
    """The id of the plan whose DefragPlanned has position `seq`: `p000123`."""
    return f"p{seq:06d}"
