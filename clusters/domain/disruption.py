"""How the fold keeps the books of lost work: a disruption opens when a job loses a slot, and is over once it runs everywhere again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from clusters.domain.books import Condition
from clusters.domain.health import condition_of
from clusters.domain.ids import Duration, Instant
from clusters.domain.jobs import JobKind, Recovery
from clusters.domain.lost_work import Disruption, Loss, LossCause, since_checkpoint
from clusters.domain.state import ClusterState, Job, Slice

_CAUSE_OF = {
    Condition.FAILED: LossCause.NODE_FAILED,
    Condition.IN_REPAIR: LossCause.NODE_FAILED,
    Condition.ABSENT: LossCause.NODE_LOST,
    Condition.UNKNOWN: LossCause.NODE_LOST,
}


def cause_of(state: ClusterState, node: str) -> LossCause:
    """Why work on the node is gone, as far as the state knows."""
    known = state.nodes.get(node)
    return LossCause.NODE_LOST if known is None else _CAUSE_OF.get(condition_of(known.marks), LossCause.WORK_STOPPED)


def gpus_of(state: ClusterState, part: Slice) -> int:
    """GPUs that the slice has now."""
    present = [name for name in part.nodes if name is not None]
    return len(part.gpus) if part.gpus and present else gpus_on(state, present)


def gpus_on(state: ClusterState, nodes: Iterable[str]) -> int:
    """GPUs of these nodes."""
    return sum(state.nodes[name].gpus for name in nodes if name in state.nodes)


def age_of_work(job: Job, now: Instant) -> Duration:
    """Work of each GPU of the job that is gone with its memory at `now`."""
    began = job.started_at
    if began is not None and job.request.recovery is Recovery.CHECKPOINT and job.resumed_at is not None:
        began = job.resumed_at  # what came before was rolled back then, and booked
    return since_checkpoint(job.request, began, job.checkpoint_at, now)


def disrupt(state: ClusterState, job: Job, lost_gpus: int, cause: LossCause, at: Instant) -> None:
    """Work on so many GPUs is gone since `at`; `job.slices` shows its slots as lost already.

    A job that goes back to its checkpoint does so once, however many nodes it loses before it resumes. Where lost nodes take their state
    from their peers, each of them is rolled back by itself.
    """
    known = job.disruption
    still = sum(gpus_of(state, part) for part in job.slices)
    if job.request.recovery is Recovery.PEER:
        rollback = lost_gpus * age_of_work(job, at if known is None else known.at)  # a job that stands still gets no further
    else:
        rollback = (still + lost_gpus) * age_of_work(job, at) if known is None else 0
    if known is None:
        job.disruption = Disruption(at=at, cause=cause, rollback=rollback, waiting_gpus=still)
    else:
        job.disruption = replace(known, rollback=known.rollback + rollback)


def leave_behind(state: ClusterState, job: Job, number: int, nodes: Sequence[str], at: Instant, cause: LossCause) -> None:
    """A slice goes elsewhere; what it held in the memory of these nodes, which were well, is lost too."""
    part = job.slices[number]
    gpus = len(part.gpus) or gpus_on(state, nodes)
    part.nodes = [None] * len(part.nodes)
    disrupt(state, job, gpus, cause, at)


def end_disruption(state: ClusterState, job: Job, at: Instant) -> None:
    """The job runs again, or has given up: what it lost is to be booked."""
    known = job.disruption
    if known is None:
        return
    job.disruption = None
    stall = known.waiting_gpus * max(0, at - known.at)
    _note(state, job, known.cause, known.rollback, stall)


def give_up_work(state: ClusterState, job: Job, cause: LossCause, at: Instant) -> None:
    """All of the job's work stops before its end, to be done again from the last checkpoint."""
    rolled = job.disruption is not None and job.request.recovery is Recovery.CHECKPOINT
    end_disruption(state, job, at)
    gpus = 0 if rolled else sum(gpus_of(state, part) for part in job.slices)
    _note(state, job, cause, gpus * age_of_work(job, at), 0)


def _note(state: ClusterState, job: Job, cause: LossCause, rollback: Duration, stall: Duration) -> None:
    if (rollback or stall) and job.request.kind is not JobKind.PROBE:  # a check that is cut short loses nothing
        state.unbooked.append(Loss(job=job.id, team=job.request.team, cause=cause, rollback=rollback, stall=stall))
