"""What would let a waiting job start, or a stalled one go on: counterfactuals, found and proven by the code that decides, on forks of the
state."""

from __future__ import annotations

from collections.abc import Callable

from clusters.domain.ids import Instant
from clusters.domain.jobs import QUEUED, JobState
from clusters.domain.state import ClusterState, Job
from scheduling.domain.counterfactuals.budgets import higher_limit, recoveries_past, spent_budget
from scheduling.domain.counterfactuals.ends import ends
from scheduling.domain.counterfactuals.moves import moves, preemptions
from scheduling.domain.counterfactuals.plans import planned, space_free
from scheduling.domain.counterfactuals.question import Counterfactual, Kind, Question, Shared
from scheduling.domain.counterfactuals.releases import others_finished, released, team_uses_less, time_come
from scheduling.domain.counterfactuals.repairs import open_racks, repairs
from scheduling.domain.counterfactuals.requests import less, lower_settings, smaller_slices
from scheduling.domain.stalls import is_stalled

__all__ = ["Counterfactual", "Kind", "counterfactuals", "outlook"]

Finder = Callable[[Question], Counterfactual | None]

#: What keeps the job from its turn, whatever room there is; and what makes room: what comes by itself, what an operator can do, what the
#: user can. They are told in this order.
TERMS: tuple[Finder, ...] = (released, others_finished, time_come, team_uses_less)
ROOM: tuple[Finder, ...] = (ends, space_free, planned, repairs, open_racks, moves, preemptions, smaller_slices, less, lower_settings)
#: Of a job that is to have no more nodes for a time, whatever room there is.
BUDGET: tuple[Finder, ...] = (recoveries_past, higher_limit)


def counterfactuals(state: ClusterState, job: Job, now: Instant) -> tuple[Counterfactual, ...]:
    """One answer of each kind that there is for a job that waits or lacks nodes; none for one that gets its nodes with the next pass."""
    return outlook(state, job, now)[1]


def outlook(state: ClusterState, job: Job, now: Instant) -> tuple[bool, tuple[Counterfactual, ...]]:
    """Whether the next pass gives the job all its nodes, and, where it does not, what would."""
    shared = Shared(state, job, now)
    if job.state is JobState.HELD or (job.state in QUEUED and _has_no_turn(job, now)):
        finders = TERMS
    elif job.state not in QUEUED and not is_stalled(job):
        return False, ()
    elif Question(state, job, now, shared).starts():
        return True, ()
    elif is_stalled(job) and spent_budget(Question(state, job, now, shared)):
        finders = BUDGET
    else:
        finders = ROOM if is_stalled(job) else (*TERMS, *ROOM)
    found = (find(Question(state, job, now, shared)) for find in finders)
    return False, tuple(answer for answer in found if answer is not None)


def _has_no_turn(job: Job, now: Instant) -> bool:
    """Whether no room would do yet."""
    start = job.request.not_before
    return bool(job.awaits) or (start is not None and start > now)
