"""Booking lost work: what disruptions that are over have cost, told once each, and what moving a slice would cost.

The fold finds out what each disruption cost (`clusters.domain.lost_work` has the formula); the pass writes it into the log.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusters.domain.disruption import age_of_work, gpus_of
from clusters.domain.events import Payload
from clusters.domain.ids import SECOND, Duration, Instant
from clusters.domain.job_events import WorkLost
from clusters.domain.jobs import Recovery
from clusters.domain.lost_work import Loss
from clusters.domain.state import ClusterState, Job


def book_losses(state: ClusterState) -> Iterator[list[Payload]]:
    """The bookings of all disruptions that are over, oldest first."""
    for loss in state.unbooked:
        yield [_booked(loss)]


def _booked(loss: Loss) -> WorkLost:
    return WorkLost(
        job=loss.job,
        team=loss.team,
        cause=loss.cause,
        rollback_gpu_s=round(loss.rollback / SECOND),
        stall_gpu_s=round(loss.stall / SECOND),
    )


def rolled_back(state: ClusterState, job: Job, number: int, now: Instant) -> Duration:
    """GPU-time done again if the slice moves: the whole job's, or the slice's where state comes from a peer."""
    parts = [job.slices[number]] if job.request.recovery is Recovery.PEER else job.slices
    return age_of_work(job, now) * sum(gpus_of(state, part) for part in parts)
