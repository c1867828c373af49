"""The projections of this installation, and bringing them up to date."""

from __future__ import annotations

from functools import cache

from clusters.eventlog.capacity_records import CapacityRecords
from clusters.eventlog.job_records import JobRecords
from clusters.eventlog.projector import Projector
from clusters.eventlog.store import default_log


@cache
def projectors() -> tuple[Projector, ...]:
    """One a projection; they are shared by all threads of the process."""
    return (Projector(default_log(), JobRecords()), Projector(default_log(), CapacityRecords()))


def project(cluster: str, budget_events: int = 500) -> bool:
    """Bring each projection of a cluster on by up to so many events; True if there are more."""
    more = [projector.project(cluster, budget_events) for projector in projectors()]
    return any(more)


def rebuild(cluster: str) -> None:
    """Make the rows of each projection anew beside those that are read, and swap."""
    for projector in projectors():
        projector.rebuild(cluster)
