"""Which running jobs have to end, and when that will be: the fewest of those that end first."""

from __future__ import annotations

from collections.abc import Sequence

from clusters.domain.ids import MINUTE, Instant
from clusters.domain.jobs import ACTIVE, JobState
from clusters.domain.state import Job
from scheduling.domain.counterfactuals.question import Counterfactual, Kind, Question, gone, placements
from scheduling.domain.forecast import earliest_start
from scheduling.domain.limits import planned_end
from scheduling.domain.wording import about, listed


def ends(question: Question) -> Counterfactual | None:
    """The earliest time at which enough work has ended for the job, and the jobs whose end it takes."""
    return (None if question.stalled else _as_reserved(question)) or _searched(question)


def _as_reserved(question: Question) -> Counterfactual | None:
    """The answer that the nodes give which are kept for the job or would be, by what is kept for others now, else by what will be."""
    return _beside(question, keeping=False) or _beside(question, keeping=True)


def _beside(question: Question, *, keeping: bool) -> Counterfactual | None:
    trial = question.fork()
    for _ in placements(trial, until=question.job.id, keeping=keeping):
        pass
    kept = trial.kept.get(question.job.id)
    outlook = None if kept is not None else earliest_start(trial, question.job)
    nodes = kept.nodes if kept is not None else outlook.nodes if outlook is not None else ()
    on_them = (question.state.nodes[name] for name in nodes if name in question.state.nodes)
    names = {name for node in on_them for name in ((node.job,) if node.job else node.shares)}
    jobs = [job for _, job in question.shared.by_end if job.id in names]
    if not jobs:
        return None
    at = planned_end(jobs[-1], question.state.policy, question.now)
    return _told(question, jobs, at) if _do(question, jobs, at) else None


def _searched(question: Question) -> Counterfactual | None:
    """The answer found by trying what would be there after more and more ends: as few as there is room for it, then those that jobs ahead
    of it need too."""
    running = question.shared.by_end
    jobs = [job for _, job in running]
    enough = _first_room(question, jobs)
    if not enough:
        return None
    few = question.least(jobs[:enough], gone)  # none where there is room already, and only others take it first
    at = max((end for end, job in running if job in few), default=question.now)
    if few and _do(question, few, at):
        return _told(question, few, at)
    for count in (enough, enough + (len(jobs) - enough) // 4, len(jobs)):
        if question.starts(gone(jobs[:count]), at=running[count - 1][0]):
            return _told(question, jobs[:count], running[count - 1][0])
    return None


def _do(question: Question, jobs: Sequence[Job], at: Instant) -> bool:
    """Whether the job starts at that time if these alone have ended, and if all have that should have by then: others ask for that room."""
    due = [job for end, job in question.shared.by_end if end <= at]
    if not question.starts(gone(jobs), at=at, likely=True):
        return False
    return len(due) == len(jobs) or question.starts(gone(due), at=at, likely=True)


def _first_room(question: Question, jobs: Sequence[Job]) -> int:
    """How many of the jobs must have ended before there is room for this one; 0 where no end would do."""
    none, enough = 0, len(jobs)
    if not jobs or not question.fits(gone(jobs)):
        return 0
    while enough - none > 1:
        half = (none + enough) // 2
        if question.fits(gone(jobs[:half])):
            enough = half
        else:
            none = half
    return enough


def _told(question: Question, jobs: Sequence[Job], at: Instant) -> Counterfactual:
    names = tuple(job.id for job in jobs)
    guessed = any(job.request.time_limit_s is None and job.request.expected_run_s is None for job in jobs if job.state in ACTIVE)
    stopping = all(job.state is JobState.STOPPING for job in jobs)
    when = "as soon as" if at - question.now < MINUTE else f"in about {about(at - question.now)}, when"
    verb = ("has stopped" if len(names) == 1 else "have stopped") if stopping else ("ends" if len(names) == 1 else "end")
    doubt = ", taken to run as long as the policy says" if guessed and at > question.now else ""
    return Counterfactual(kind=Kind.END, text=f"{question.will} {when} {listed(names)} {verb}{doubt}", params={"jobs": names}, at=at)
