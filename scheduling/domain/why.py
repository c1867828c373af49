"""Why a job waits: the reasons counted now, its place in the queue, what is kept for it, and what would let it start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clusters.domain.decision import Refusal
from clusters.domain.ids import Instant
from clusters.domain.jobs import QUEUED, JobState
from clusters.domain.reservations import Reservation
from clusters.domain.state import ClusterState, Job
from scheduling.domain.counterfactuals import Counterfactual, counterfactuals, starts_next
from scheduling.domain.refusals import explain
from scheduling.domain.trial import Trial
from scheduling.domain.turns import in_order
from scheduling.domain.waiting import counted, refusal_now


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
    counterfactuals: tuple[Counterfactual, ...] = ()


def why(state: ClusterState, job: Job, now: Instant) -> Why:
    """The whole answer for a living job. The state is left as it is."""
    trial = Trial(state, now)
    refusal = refusal_now(trial, job)
    order = in_order(trial) if job.state in QUEUED else []
    found = counterfactuals(state, job, now)
    starting = job.state in QUEUED and not found and starts_next(state, job, now)
    if job.state in QUEUED:
        refusal = None if starting else counted(trial, job) or refusal
    return Why(
        job=job.id,
        state=job.state,
        code=refusal.code if refusal else "",
        text=_text(job, refusal, starting=starting),
        counts=refusal.counts if refusal else {},
        position=order.index(job.id) + 1 if job.id in order else None,
        waiting=len(order),
        reservation=state.reservations.get(job.id),
        counterfactuals=found,
    )


def _text(job: Job, refusal: Refusal | None, *, starting: bool) -> str:
    if refusal is not None:
        return explain(refusal)
    if starting:
        return "it starts with the next pass"
    return "jobs ahead of it take the room that there is" if job.state in QUEUED else f"it does not wait: it is {job.state}"
