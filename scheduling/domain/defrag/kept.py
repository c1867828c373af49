"""Which reservations of other jobs a plan has to leave alone."""

from __future__ import annotations

from collections.abc import Iterator

from clusters.domain.reservations import Reservation, is_claim
from clusters.domain.state import ClusterState, Job
from scheduling.domain.defrag.victims import points


def kept_from(state: ClusterState, name: str) -> Iterator[Reservation]:
    """Those of others than the job ("": whole domains) that bind a plan for it.

    All claims do, since work was sent away for them. What is only kept by the planned ends of work binds where its job comes before this
    one; for a job behind it other nodes are found once the plan runs.
    """
    job = state.jobs.get(name)
    for reservation in state.reservations.values():
        if reservation.job == name:
            continue
        other = state.jobs.get(reservation.job)
        if is_claim(reservation) or job is None or other is None or _rank(state, other) < _rank(state, job):
            yield reservation


def _rank(state: ClusterState, job: Job) -> tuple[int, int, int]:
    return -points(state.policy, job), job.aged_from, job.seq
