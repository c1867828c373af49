"""How reports of checkpoints and the bookings of lost work change the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusters.domain import job_events as ev
from clusters.domain.errors import BrokenInvariant
from clusters.domain.events import Event
from clusters.domain.jobs import ACTIVE
from clusters.domain.state import ClusterState


def _checkpointed(state: ClusterState, event: Event, payload: ev.CheckpointReported) -> None:
    job = state.jobs.get(payload.job)
    if job is None or job.state not in ACTIVE or payload.generation != job.generation:
        return
    at = event.occurred_at if payload.at is None else min(payload.at, event.occurred_at)
    if job.checkpoint_at is None or at >= job.checkpoint_at:
        job.checkpoint_at, job.checkpoint_step = at, payload.step


def _work_lost(state: ClusterState, _: Event, payload: ev.WorkLost) -> None:
    place = next((place for place, loss in enumerate(state.unbooked) if loss.job == payload.job), None)
    if place is None:
        raise BrokenInvariant(f"work of job {payload.job} was booked as lost, but no disruption of it is over")
    del state.unbooked[place]
    rollback, stall = state.lost_work.get((payload.team, payload.cause.value), (0, 0))
    state.lost_work[payload.team, payload.cause.value] = (rollback + payload.rollback_gpu_s, stall + payload.stall_gpu_s)
    job = state.jobs.get(payload.job)
    if job is not None:
        job.rollback_gpu_s += payload.rollback_gpu_s
        job.stall_gpu_s += payload.stall_gpu_s


HANDLERS: dict[type, Callable[[ClusterState, Event, Any], None]] = {
    ev.CheckpointReported: _checkpointed,
    ev.WorkLost: _work_lost,
}
