"""What would let a waiting job start: counterfactuals, found and proven by the code that decides, on forks of the state."""

from __future__ import annotations

from collections.abc import Callable

from clusters.domain.ids import Instant
from clusters.domain.jobs import QUEUED, JobState
from clusters.domain.state import ClusterState, Job
from scheduling.domain.counterfactuals.ends import ends
from scheduling.domain.counterfactuals.moves import moves, preemptions
from scheduling.domain.counterfactuals.question import Counterfactual, Kind, Question
from scheduling.domain.counterfactuals.releases import others_finished, released, team_uses_less, time_come
from scheduling.domain.counterfactuals.repairs import open_racks, repairs
from scheduling.domain.counterfactuals.requests import less, lower_settings, smaller_slices
from scheduling.domain.trial import Trial

__all__ = ["Counterfactual", "Kind", "counterfactuals", "starts_next"]

Finder = Callable[[Question], Counterfactual | None]

#: What keeps the job from its turn, whatever room there is; and what makes room: what comes by itself, what an operator can do, what the
#: user can. They are told in this order.
TERMS: tuple[Finder, ...] = (released, others_finished, time_come, team_uses_less)
ROOM: tuple[Finder, ...] = (ends, repairs, open_racks, moves, preemptions, smaller_slices, less, lower_settings)


def counterfactuals(state: ClusterState, job: Job, now: Instant) -> tuple[Counterfactual, ...]:
    """One answer of each kind that there is for a waiting job; none for a job that starts with the next pass, or does not wait."""
    if job.state is JobState.HELD or (job.state in QUEUED and _has_no_turn(job, now)):
        finders = TERMS
    elif job.state in QUEUED and not starts_next(state, job, now):
        finders = (*TERMS, *ROOM)
    else:
        return ()
    shared: dict[str, Trial] = {}
    found = (find(Question(state, job, now, shared)) for find in finders)
    return tuple(answer for answer in found if answer is not None)


def starts_next(state: ClusterState, job: Job, now: Instant) -> bool:
    """Whether the next pass places the job."""
    question = Question(state, job, now)
    return question.starts()


def _has_no_turn(job: Job, now: Instant) -> bool:
    """Whether no room would do yet."""
    start = job.request.not_before
    return bool(job.awaits) or (start is not None and start > now)
