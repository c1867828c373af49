"""What is not a matter of room: somebody's hold, other jobs, the time, the quota of the team."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from clusters.domain.ids import Instant
from clusters.domain.jobs import JobState
from clusters.domain.state import Job
from scheduling.domain.counterfactuals.question import Counterfactual, Kind, Question, gone, placements
from scheduling.domain.limits import planned_end
from scheduling.domain.preemption import gpus_held
from scheduling.domain.quotas import Quotas, gpus_asked
from scheduling.domain.trial import Trial
from scheduling.domain.wording import about, listed, many


def released(question: Question) -> Counterfactual | None:
    """Nobody held the job any more."""
    job = question.job
    if job.state is not JobState.HELD or job.awaits or _early(question, question.now) or not _room(question, question.fork()):
        return None
    return Counterfactual(kind=Kind.RELEASE, text="it would start if it were released")


def others_finished(question: Question) -> Counterfactual | None:
    """The jobs that it comes after had finished, with what room they leave."""
    state, job = question.state, question.job
    awaited = [state.jobs[name] for name in sorted(job.awaits, key=lambda name: state.jobs[name].seq)]
    if job.state is JobState.HELD or not awaited:
        return None
    known = all(other.held_nodes for other in awaited)  # else nobody can say when
    at = max(_end(question, other) for other in awaited) if known else None
    running = [other for other in awaited if other.held_nodes]
    if _early(question, at or question.now) or not _room(question, question.fork(gone(running), at=at)):
        return None
    names = tuple(other.id for other in awaited)
    when = f" in about {about(at - question.now)}," if at is not None and at > question.now else ""
    text = f"it starts{when} when {listed(names)} {'has' if len(names) == 1 else 'have'} finished"
    return Counterfactual(kind=Kind.AFTER, text=text, params={"jobs": names}, at=at)


def time_come(question: Question) -> Counterfactual | None:
    """The time had come before which it does not start."""
    start = question.request.not_before
    if start is None or not _early(question, question.now) or question.job.awaits or question.job.state is JobState.HELD:
        return None
    if not question.starts(at=start):
        return None
    text = f"it starts in about {about(start - question.now)}, when its time has come"
    return Counterfactual(kind=Kind.TIME, text=text, params={"not_before": start}, at=start)


def team_uses_less(question: Question) -> Counterfactual | None:
    """Its team held less, where its quota is in the way: the work of the team that ends first, as much as it takes."""
    state, team = question.state, question.request.team
    refusal = Quotas(state).refusal(team, gpus_asked(question.request, state.topology.usual_gpus))
    if refusal is None:
        return None
    counts = refusal.counts
    fewer = int(counts["asked"]) - max(0, int(counts["quota"]) - int(counts["used"])) - int(counts["could_borrow"])
    own = [job for job in state.jobs.values() if job.held_nodes and job.request.team == team]
    ending = sorted(own, key=lambda job: (_end(question, job), job.seq))
    freed = list(accumulate(gpus_held(state, job) for job in ending))
    for count, gpus in enumerate(freed, 1):
        if gpus >= fewer and question.starts(gone(ending[:count]), at=_end(question, ending[count - 1])):
            return _told_quota(question, ending[:count], gpus)
    return None


def _told_quota(question: Question, jobs: Sequence[Job], gpus: int) -> Counterfactual:
    team, names, at = question.request.team, tuple(job.id for job in jobs), _end(question, jobs[-1])
    whose = f"team {team}" if team else "work of no team"
    when = f" in about {about(at - question.now)}," if at > question.now else ""
    text = f"it starts{when} when {whose} has freed {many(gpus, 'GPU')}, those of {listed(names)}"
    return Counterfactual(kind=Kind.QUOTA, text=text, params={"team": team, "gpus": gpus, "jobs": names}, at=at)


def _end(question: Question, job: Job) -> Instant:
    return planned_end(job, question.state.policy, question.now)


def _early(question: Question, at: Instant) -> bool:
    start = question.request.not_before
    return start is not None and start > at


def _room(question: Question, trial: Trial) -> bool:
    """Whether there is room for a job that has no turn yet, once all others have had theirs."""
    for _ in placements(trial):
        pass
    return question.fits_in(trial, question.request)
