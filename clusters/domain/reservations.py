"""Space that is kept for a job that waits."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.domain.ids import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Nodes kept for one job. Whatever ends by `starts_at` may use them until then.

    An ordinary reservation is made from the planned ends of work that runs, is made anew when that changes, and ends with the job's wait. A
    claim is made where work was sent away for the job: it stands until it expires.
    """

    job: str
    nodes: tuple[str, ...]
    starts_at: Instant  # when all of them are free, at the latest, if all keep their time limits
    expires_at: Instant | None  # of a claim; None: no claim
    reason: str
    since: int  # position at which nodes were first kept for this wait of the job: what was placed on them later knew of it


def is_claim(reservation: Reservation | None) -> bool:
    """Whether there is a reservation, and it is a claim."""
    return reservation is not None and reservation.expires_at is not None
