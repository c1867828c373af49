"""Which running jobs have to end, and when that will be: the fewest of those that end first."""

from __future__ import annotations

from collections.abc import Sequence

from clusters.domain.ids import MINUTE, Instant
from clusters.domain.jobs import ACTIVE, JobState
from clusters.domain.state import Job
from scheduling.domain.counterfactuals.question import Counterfactual, Kind, Question, gone, listed, span
from scheduling.domain.limits import planned_end


def ends(question: Question) -> Counterfactual | None:
    """The earliest time at which enough work has ended for the job, and the jobs whose end it takes."""
    running = _by_end(question)
    count = _earliest(question, running)
    if not count:
        return None
    jobs = [job for _, job in running[:count]]
    few = question.least(jobs, gone)  # none where there is room already, and only others take it first
    at = max((end for end, job in running if job in few), default=question.now)
    if few and question.starts(gone(few), at=at):
        return _told(question, few, at)
    return _told(question, jobs, running[count - 1][0])


def _by_end(question: Question) -> list[tuple[Instant, Job]]:
    """Jobs that hold nodes, by when they give them back."""
    state, now = question.state, question.now
    held = ((planned_end(job, state.policy, now), job) for job in state.jobs.values() if job.held_nodes)
    return sorted(held, key=lambda pair: (pair[0], pair[1].seq))


def _earliest(question: Question, running: Sequence[tuple[Instant, Job]]) -> int:
    """How many of the jobs must have ended before this one starts; 0 where no end would do, or none was found within bounds."""
    jobs = [job for _, job in running]
    none, enough = 0, len(jobs)
    if not jobs or not question.fits(gone(jobs)):
        return 0
    while enough - none > 1:
        half = (none + enough) // 2
        if question.fits(gone(jobs[:half])):
            enough = half
        else:
            none = half
    step = 1
    while not question.starts(gone(jobs[:enough]), at=running[enough - 1][0]):  # others take that room first
        if enough == len(jobs) or question.passes <= 0:
            return 0
        enough = min(len(jobs), enough + step)
        step *= 2
    return enough


def _told(question: Question, jobs: Sequence[Job], at: Instant) -> Counterfactual:
    names = tuple(job.id for job in jobs)
    guessed = any(job.request.time_limit_s is None and job.request.expected_run_s is None for job in jobs if job.state in ACTIVE)
    stopping = all(job.state is JobState.STOPPING for job in jobs)
    when = "as soon as" if at - question.now < MINUTE else f"in about {span(at - question.now)}, when"
    verb = ("has stopped" if len(names) == 1 else "have stopped") if stopping else ("ends" if len(names) == 1 else "end")
    doubt = ", taken to run as long as the policy says" if guessed and at > question.now else ""
    return Counterfactual(kind=Kind.END, text=f"it starts {when} {listed(names)} {verb}{doubt}", params={"jobs": names}, at=at)
