"""The queue: waiting jobs in order of priority, then age, or size where the policy says so.

A job that cannot be placed does not stop those behind it. Within one pass placements only take space away, so what was refused once stays
refused, and each distinct request is tried once. Why a job waits is counted after all placements, so that the reasons are those of the
state that the pass leaves; they are told when the code changes, not each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusters.domain.decision import Refusal
from clusters.domain.events import Payload
from clusters.domain.job_events import JobBlocked, JobPlaced
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import QueueOrder
from clusters.domain.state import ClusterState, Job
from scheduling.domain.shape import Asked, asked_of
from scheduling.domain.trial import Trial


@dataclass(slots=True, kw_only=True)
class _Refused:
    """Jobs that ask for the same, and why it was refused."""

    refusal: Refusal
    after: int  # placements of this pass before that
    jobs: list[Job]


def in_order(state: ClusterState) -> list[str]:
    """The waiting jobs in the order in which they are tried."""
    if state.policy.queue_order is QueueOrder.AGE:
        return [name for _, _, name in state.queue]
    gpus = state.topology.usual_gpus
    return [name for *_, name in sorted((rank, _size(state.jobs[name].request, gpus), seq, name) for rank, seq, name in state.queue)]


def _size(request: JobRequest, gpus_per_node: int) -> int:
    """The request in GPUs."""
    return request.gpus if request.gpus is not None else (request.nodes or 0) * gpus_per_node


def place_waiting(trial: Trial) -> Iterator[Payload]:
    """JobPlaced in queue order, each taken by the trial before the next job is looked at; then JobBlocked, by request."""
    refused: dict[Asked, _Refused] = {}
    placed = 0
    for name in in_order(trial.state):
        job = trial.state.jobs[name]
        asked = asked_of(job.request)
        if asked in refused:
            refused[asked].jobs.append(job)
            continue
        outcome = trial.place(job.request)
        if isinstance(outcome, Refusal):
            refused[asked] = _Refused(refusal=outcome, after=placed, jobs=[job])
            continue
        trial.take(job.request, outcome)
        placed += 1
        yield JobPlaced(job=name, generation=job.generation + 1, slices=outcome)
    for group in refused.values():
        yield from _tell(trial, group, stale=group.after < placed)


def _tell(trial: Trial, group: _Refused, *, stale: bool) -> Iterator[JobBlocked]:
    request = group.jobs[0].request
    outcome = trial.place(request) if stale else group.refusal
    refusal = outcome if isinstance(outcome, Refusal) else group.refusal
    news = [job for job in group.jobs if job.blocked != refusal.code]
    final = trial.final(request, refusal) if news else refusal  # counted in the whole state only where it may be news
    for job in news:
        if job.blocked != final.code:
            yield JobBlocked(job=job.id, code=final.code, counts=final.counts)
