"""What is not a matter of room: somebody's hold, other jobs, the time, the quota of the team."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from clusters.domain.ids import Instant
from clusters.domain.jobs import JobState
from clusters.domain.state import Job
from scheduling.domain.counterfactuals.question import Counterfactual, Kind, Question, gone, placements
from scheduling.domain.limits import planned_end
from scheduling.domain.preemption import gpus_held
from scheduling.domain.quotas import Quotas, gpus_asked, never_within
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
    """Its team held less, where its quota is in the way, or those that lend to it did: the work that ends first, as much as it takes."""
    state, team = question.state, question.request.team
    asked, quotas = gpus_asked(question.request, state.topology.usual_gpus), Quotas(state)
    if quotas.short(team, asked) is None or never_within(state.policy, team, asked) is not None:
        return None
    for teams in ({team}, {team} | quotas.lenders()):
        ending = [(at, job) for at, job in question.shared.by_end if job.request.team in teams]
        freed: Counter[str] = Counter()
        for count, (at, job) in enumerate(ending, 1):
            freed[job.request.team] += gpus_held(state, job)
            jobs = [other for _, other in ending[:count]]
            if Quotas(state, freed).short(team, asked) is None and question.starts(gone(jobs), at=at):
                return _told_quota(question, jobs, freed, at)
    return None


def _told_quota(question: Question, jobs: Sequence[Job], freed: Counter[str], at: Instant) -> Counterfactual:
    team, names, gpus = question.request.team, tuple(job.id for job in jobs), freed.total()
    whose = listed([f"team {name}" if name else "work of no team" for name in sorted(freed)])
    have = "has" if len(freed) == 1 else "have"
    when = f" in about {about(at - question.now)}," if at > question.now else ""
    text = f"it starts{when} when {whose} {have} freed {many(gpus, 'GPU')}, those of {listed(names)}"
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
