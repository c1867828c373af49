"""The prices of a plan, worked out anew from the state: what the checker holds the search to.

Weighted GPU-seconds. A move costs the restart of the slice's GPUs; beside it the work since the last checkpoint: of the whole job, once,
where it goes back to its checkpoint, or of the slice where state comes from a peer. A job that waits pays for all its GPUs, and for the
time that it is taken to wait. The weight is 1 for the lowest priority among work that runs, 2 for the next, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusters.domain.defrag import Plan
from clusters.domain.disruption import age_of_work
from clusters.domain.ids import SECOND
from clusters.domain.jobs import ACTIVE, Recovery
from clusters.domain.state import ClusterState, Job
from clusters.domain.teams import class_of
from scheduling.domain.defrag.model import Terms
from scheduling.domain.trial import Trial


def prices_of(trial: Trial, plan: Plan, terms: Terms) -> Iterator[tuple[int, int]]:
    """(weighted, unweighted) price of each move; what a job pays once, it pays with the first of its moves."""
    state = trial.state
    ranks = sorted({priority_of(state, job) for job in state.jobs.values() if job.state in ACTIVE})
    paid: set[str] = set()
    for move in plan.moves:
        job = state.jobs[move.job]
        every = _gpus(state, job, range(len(job.slices)))
        age = round(age_of_work(job, trial.now) / SECOND)
        if move.to is None:
            lost = every * (terms.restart_s + terms.wait_s + age)
        else:
            own = _gpus(state, job, [move.slice])
            rolled_back = own if job.request.recovery is Recovery.PEER else 0 if job.id in paid else every
            lost = own * terms.restart_s + rolled_back * age
        paid.add(job.id)
        yield lost * (ranks.index(priority_of(state, job)) + 1), lost


def priority_of(state: ClusterState, job: Job) -> int:
    """Points of the class and of the job itself."""
    return class_of(state.policy.classes, job.request.priority_class).priority + job.priority


def _gpus(state: ClusterState, job: Job, slices: range | list[int]) -> int:
    parts = [job.slices[number] for number in slices]
    return sum(len(part.gpus) or sum(state.nodes[name].gpus for name in part.nodes if name is not None) for part in parts)
