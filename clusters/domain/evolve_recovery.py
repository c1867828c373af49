"""How swaps, moves and stalls of slices change the state."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable
from typing import Any

from clusters.domain import job_events as ev
from clusters.domain.allocation import hold_slice, hold_spare, want_spares
from clusters.domain.disruption import leave_behind
from clusters.domain.errors import BrokenInvariant
from clusters.domain.events import Event
from clusters.domain.evolve_defrag import begin_step
from clusters.domain.evolve_jobs import count, touch
from clusters.domain.exclusive import refresh_closed
from clusters.domain.ids import HOUR, Instant
from clusters.domain.jobs import JobState
from clusters.domain.lost_work import LossCause
from clusters.domain.setting import MAX_RECOVERIES
from clusters.domain.state import ClusterState, Job


def _swapped(state: ClusterState, event: Event, payload: ev.NodeSwapped) -> None:
    job = state.jobs[payload.job]
    part = job.slices[payload.slice]
    if part.nodes[payload.slot] is not None:
        raise BrokenInvariant(
            f"slot {payload.slot} of slice {payload.slice} of job {job.id} was swapped, but still has {part.nodes[payload.slot]}"
        )
    job.generation = payload.generation
    hold_spare(state, job, part.domain, payload.new)
    part.nodes[payload.slot] = payload.new
    del part.lost[payload.slot]
    job.swaps += 1
    _remember(job, event.occurred_at)
    count(state, "swaps")
    _resume(state, job)


def _moved(state: ClusterState, event: Event, payload: ev.SliceMoved) -> None:
    job = state.jobs[payload.job]
    planned = begin_step(state, job, payload.slice, payload.assignment)
    job.generation = payload.generation
    job.leaving.update(name for name in payload.released if name in job.held_nodes)
    job.unstarted.difference_update(payload.released)
    if payload.released:
        cause = LossCause.DEFRAG if planned else LossCause.MOVED
        leave_behind(state, job, payload.slice, payload.released, event.occurred_at, cause)
        job.disturbed_at = event.occurred_at
    there = hold_slice(state, job, payload.assignment)  # the dense state is there from here on, and knows the old place
    want_spares(state, job, wanted=False)
    job.slices[payload.slice] = there
    refresh_closed(state, job)
    want_spares(state, job, wanted=True)
    job.moves += 1
    if payload.lost:
        _remember(job, event.occurred_at)
    count(state, "moves")
    touch(state, job)
    _resume(state, job)


def _remember(job: Job, at: Instant) -> None:
    """One more recovery: those of the hour before it are kept, the last MAX_RECOVERIES of them, which no limit asks beyond."""
    insort(job.recoveries, at)
    del job.recoveries[: max(bisect_right(job.recoveries, at - HOUR), len(job.recoveries) - MAX_RECOVERIES)]


def _resume(state: ClusterState, job: Job) -> None:
    """After a swap or move: the job starts where its work is new, unless it still lacks nodes."""
    if not job.lost_slots:
        state.lost.discard(job.id)
        job.state = JobState.STARTING
        job.blocked = ""
        job.counts = {}


def _stalled(state: ClusterState, _: Event, payload: ev.SliceStalled) -> None:
    job = state.jobs[payload.job]
    job.state = JobState.STALLED
    job.blocked = payload.code
    job.counts = dict(payload.counts)


HANDLERS: dict[type, Callable[[ClusterState, Event, Any], None]] = {
    ev.NodeSwapped: _swapped,
    ev.SliceMoved: _moved,
    ev.SliceStalled: _stalled,
}
