"""When a pass has something to do though no event comes.

The shell sends the pass at these times; one that comes too often finds nothing to do and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusters.domain.ids import Instant
from clusters.domain.state import ClusterState
from scheduling.domain.defrag_run import plan_deadlines
from scheduling.domain.limits import STOP, limit_of
from scheduling.domain.recovery_budget import budget_deadlines
from scheduling.domain.verdicts.judge import verdict_deadlines


def next_deadline(state: ClusterState, after: Instant) -> Instant | None:
    """The first deadline after a moment of cluster time at which a pass has been made, or was not needed; None where there is none."""
    return min((deadline for deadline in _deadlines(state, after) if deadline > after), default=None)


def _deadlines(state: ClusterState, after: Instant) -> Iterator[Instant]:
    for name in state.limited:
        if (limit := limit_of(state.jobs[name])) is not None:
            yield limit
    yield from verdict_deadlines(state, after)
    for line in state.queue.lines.values():  # the jobs of a line have the same time
        start = state.jobs[line.jobs[0][2]].request.not_before
        if start is not None:
            yield start
    yield from plan_deadlines(state)
    yield from budget_deadlines(state)
    for reservation in state.reservations.values():
        yield reservation.starts_at - STOP  # what can be made to give way is asked to
        yield reservation.starts_at
        if reservation.expires_at is not None:
            yield reservation.expires_at
