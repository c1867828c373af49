"""Why a job waits: the reasons counted now, its place in the queue, what is kept for it, and what would let it start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clusters.domain.decision import Refusal
from clusters.domain.ids import Instant
from clusters.domain.jobs import QUEUED, JobState
from clusters.domain.reservations import Reservation
from clusters.domain.state import ClusterState, Job
from scheduling.domain.counterfactuals import Counterfactual, outlook
from scheduling.domain.refusals import explain
from scheduling.domain.stalls import ShortSlice, is_stalled, short_slices
from scheduling.domain.terms import RECOVERY_BUDGET
from scheduling.domain.trial import Trial
from scheduling.domain.turns import in_order
from scheduling.domain.waiting import counted_apart, refusal_now


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """What can be said of a job that has no nodes, or lacks some."""

    job: str
    state: JobState
    code: str = ""  # of the refusal; "" where nothing keeps it
    text: str  # one sentence without its first capital and its full stop
    counts: Mapping[str, int | str] = field(default_factory=dict)
    position: int | None = None  # in the queue, from 1
    waiting: int = 0  # jobs in the queue
    reservation: Reservation | None = None
    lacks: tuple[ShortSlice, ...] = ()  # of a job that runs, where it is for want of room
    counterfactuals: tuple[Counterfactual, ...] = ()


def why(state: ClusterState, job: Job, now: Instant) -> Why:
    """The whole answer for a living job. The state is left as it is."""
    trial = Trial(state, now)
    order = in_order(trial) if job.state in QUEUED else []
    starting, found = outlook(state, job, now)
    refusal = None if starting else (counted_apart(trial, job) if job.state in QUEUED else None) or refusal_now(trial, job)
    return Why(
        job=job.id,
        state=job.state,
        code=refusal.code if refusal else "",
        text=_text(job, refusal, starting=starting),
        counts=refusal.counts if refusal else {},
        position=order.index(job.id) + 1 if job.id in order else None,
        waiting=len(order),
        reservation=state.reservations.get(job.id),
        lacks=short_slices(trial, job) if is_stalled(job) and not _holds(refusal) else (),
        counterfactuals=found,
    )


def _holds(refusal: Refusal | None) -> bool:
    """Whether room is not what the job lacks: where it comes nearest to a place is of no use to anybody then."""
    return refusal is not None and refusal.code == RECOVERY_BUDGET


def _text(job: Job, refusal: Refusal | None, *, starting: bool) -> str:
    if refusal is not None:
        return explain(refusal)
    if starting:
        return "it goes on with the next pass" if is_stalled(job) else "it starts with the next pass"
    return "jobs ahead of it take the room that there is" if job.state in QUEUED else f"it does not wait: it is {job.state}"
