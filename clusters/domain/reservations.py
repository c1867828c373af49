"""Space that is kept for a job that waits."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.domain.ids import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Nodes kept for one job. Whatever ends by `starts_at` may use them until then."""

    job: str
    nodes: tuple[str, ...]
    starts_at: Instant  # when all of them are free, at the latest, if all keep their time limits
    expires_at: Instant | None  # the claim ends then, whatever has become of the job; None = with the job's wait
    reason: str
