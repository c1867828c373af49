"""What is not a matter of room: somebody's hold, other jobs, the time, the team's quota."""

from __future__ import annotations

from clusters.domain.ids import Instant
from clusters.domain.jobs import JobState
from clusters.domain.state import Job
from scheduling.domain.counterfactuals.question import Change, Counterfactual, Kind, Question, gone, listed, placements, span
from scheduling.domain.limits import planned_end
from scheduling.domain.quotas import Quotas, gpus_asked
from scheduling.domain.trial import Trial


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
    when = f" in about {span(at - question.now)}," if at is not None and at > question.now else ""
    text = f"it starts{when} when {listed(names)} {'has' if len(names) == 1 else 'have'} finished"
    return Counterfactual(kind=Kind.AFTER, text=text, params={"jobs": names}, at=at)


def time_come(question: Question) -> Counterfactual | None:
    """The time had come before which it does not start."""
    start = question.request.not_before
    if start is None or not _early(question, question.now) or question.job.awaits or question.job.state is JobState.HELD:
        return None
    if not question.starts(question.fork(at=start)):
        return None
    text = f"it starts in about {span(start - question.now)}, when its time has come"
    return Counterfactual(kind=Kind.TIME, text=text, params={"not_before": start}, at=start)


def team_uses_less(question: Question) -> Counterfactual | None:
    """Its team held fewer GPUs, where its quota is all that is in the way."""
    team = question.request.team
    asked = gpus_asked(question.request, question.state.topology.usual_gpus)
    refusal = Quotas(question.state).refusal(team, asked)
    if refusal is None:
        return None
    counts = refusal.counts
    used, could = int(counts["used"]), int(counts["could_borrow"])
    fewer = asked - max(0, int(counts["quota"]) - used) - could
    if not 0 < fewer <= used or not question.starts(question.fork(_freed(team, fewer))):
        return None
    text = f"it would start if {f'team {team}' if team else 'work of no team'} held {fewer} GPU{'' if fewer == 1 else 's'} fewer"
    return Counterfactual(kind=Kind.QUOTA, text=text, params={"team": team, "gpus": fewer})


def _freed(team: str, gpus: int) -> Change:
    def change(trial: Trial) -> None:
        trial.given_back[team] = gpus

    return change


def _end(question: Question, job: Job) -> Instant:
    return planned_end(job, question.state.policy, question.now)


def _early(question: Question, at: Instant) -> bool:
    start = question.request.not_before
    return start is not None and start > at


def _room(question: Question, trial: Trial) -> bool:
    """Whether there is room for a job that has no turn yet, once all others have had theirs."""
    for _ in placements(trial):
        pass
    return question.fits(trial)
