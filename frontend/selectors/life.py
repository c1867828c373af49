"""The life of one job, read from its events: pure, and the same for jobs that run and jobs that ended long ago."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from clusters.domain import job_events as ev
from clusters.domain.events import Event
from clusters.domain.ids import Instant
from clusters.domain.jobs import JobState
from clusters.domain.lost_work import LossCause


@dataclass(slots=True)
class Spent:
    """What disruptions of one cause have cost a job."""

    times: int = 0
    rollback_gpu_s: int = 0
    stall_gpu_s: int = 0


@dataclass(slots=True, kw_only=True)
class Had:
    """One slice of a placement; a slot whose node was lost still names it."""

    domain: str
    nodes: list[str]
    gpus: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class Life:
    """When a job went from one step to the next; of several placements and starts, the first."""

    state: JobState = JobState.SUBMITTED
    submitted_at: Instant = 0
    placed_at: Instant | None = None
    started_at: Instant | None = None
    stopping_at: Instant | None = None
    ended_at: Instant | None = None
    generation: int = 0
    priority: int = 0
    swaps: int = 0
    moves: int = 0
    preemptions: int = 0
    slices: list[Had] = field(default_factory=list)  # of the last placement, as swaps and moves left them
    reason: str = ""
    unstarted: set[str] = field(default_factory=set)
    checkpoint_step: int | None = None
    checkpoint_at: Instant | None = None
    lost_work: dict[LossCause, Spent] = field(default_factory=dict)


def life_of(events: Iterable[Event]) -> Life:
    """Read a job's events in order."""
    life = Life()
    for event in events:
        reader = _READERS.get(type(event.payload))
        if reader is not None:
            reader(life, event.occurred_at, event.payload)
    return life


def _submitted(life: Life, at: Instant, payload: ev.JobSubmitted) -> None:
    life.submitted_at, life.priority = at, payload.request.priority


def _placed(life: Life, at: Instant, payload: ev.JobPlaced) -> None:
    life.generation = payload.generation
    life.placed_at = life.placed_at or at
    life.stopping_at = None
    life.unstarted = {node for part in payload.slices for node in part.nodes}
    life.slices = [_had(part) for part in payload.slices]


def _had(part: ev.SliceAssignment) -> Had:
    return Had(domain=part.domain, nodes=list(part.nodes), gpus=part.gpus)


def _started(life: Life, at: Instant, payload: ev.WorkStarted) -> None:
    life.unstarted.difference_update(payload.nodes)
    if life.placed_at is not None and not life.unstarted and life.started_at is None:
        life.started_at = at


def _swapped(life: Life, _: Instant, payload: ev.NodeSwapped) -> None:
    life.generation = payload.generation
    life.swaps += 1
    life.slices[payload.slice].nodes[payload.slot] = payload.new


def _moved(life: Life, _: Instant, payload: ev.SliceMoved) -> None:
    life.generation = payload.generation
    life.moves += 1
    life.slices[payload.slice] = _had(payload.assignment)


def _preempted(life: Life, _: Instant, payload: ev.JobPreempted) -> None:
    life.preemptions += 1


def _stopping(life: Life, at: Instant, payload: ev.StopRequested) -> None:
    if payload.after is not ev.AfterStop.CONTINUES:
        life.stopping_at = at


def _changed(life: Life, _: Instant, payload: ev.JobChanged) -> None:
    life.priority = payload.priority


def _checkpointed(life: Life, at: Instant, payload: ev.CheckpointReported) -> None:
    life.checkpoint_step = payload.step
    life.checkpoint_at = at if payload.at is None else min(payload.at, at)


def _lost(life: Life, _: Instant, payload: ev.WorkLost) -> None:
    spent = life.lost_work.setdefault(payload.cause, Spent())
    spent.times += 1
    spent.rollback_gpu_s += payload.rollback_gpu_s
    spent.stall_gpu_s += payload.stall_gpu_s


def _ended(outcome: JobState) -> _Reader:
    def read(life: Life, at: Instant, payload: ev.JobFinished | ev.JobFailed | ev.JobCancelled) -> None:
        if life.ended_at is None:
            life.state, life.ended_at = outcome, at
            life.reason = "" if isinstance(payload, ev.JobFinished) else payload.reason

    return read


_Reader = Callable[[Life, Instant, Any], None]

_READERS: dict[type, _Reader] = {
    ev.JobSubmitted: _submitted,
    ev.JobPlaced: _placed,
    ev.WorkStarted: _started,
    ev.NodeSwapped: _swapped,
    ev.SliceMoved: _moved,
    ev.StopRequested: _stopping,
    ev.JobPreempted: _preempted,
    ev.JobChanged: _changed,
    ev.CheckpointReported: _checkpointed,
    ev.WorkLost: _lost,
    ev.JobFinished: _ended(JobState.FINISHED),
    ev.JobFailed: _ended(JobState.FAILED),
    ev.JobCancelled: _ended(JobState.CANCELLED),
}
