"""Plans that make room and are there already, and space that is kept for others for a time."""

from __future__ import annotations

from clusters.domain.defrag import ActivePlan, PlanMove, PlanStatus
from clusters.domain.ids import HOUR, SECOND
from clusters.domain.reservations import Reservation, is_claim
from clusters.domain.space_events import SpaceReserved
from scheduling.domain.counterfactuals.question import Change, Counterfactual, Kind, Question
from scheduling.domain.defrag_commands import outdated
from scheduling.domain.moving import take_away
from scheduling.domain.releasing import release
from scheduling.domain.trial import Trial
from scheduling.domain.wording import about, in_gpu_hours


def planned(question: Question) -> Counterfactual | None:
    """The plan that makes room for the job, where there is one that still holds and does."""
    for known in question.state.defrag.values():
        running = known.status is PlanStatus.RUNNING
        if known.plan.job != question.job.id or not (running or not outdated(question.state, known, question.now)):
            continue
        if question.starts(_carried_out(known, claims=not question.stalled)):
            return _told_plan(question, known, running=running)
    return None


def _carried_out(known: ActivePlan, *, claims: bool) -> Change:
    """All moves of the plan that are still to come are done, and what they free is kept for the job, if it waits for its turn."""

    def change(trial: Trial) -> None:
        for step, move in enumerate(known.plan.moves):
            if step not in known.ended:
                _leave(trial, move)
        if claims:
            kept = SpaceReserved(
                job=known.plan.job, nodes=known.plan.nodes, starts_at=trial.now, expires_at=trial.now + HOUR, reason=known.reason
            )
            trial.keep(kept)

    return change


def _leave(trial: Trial, move: PlanMove) -> None:
    """The victim has left its nodes, and has its new ones, unless it waits."""
    job = trial.state.jobs.get(move.job)
    if job is None:
        return
    if move.to is None:
        if job.id not in trial.stopping:
            release(trial, job)
            trial.stopping.add(job.id)
        return
    domain = trial.topology.domain_index[move.domain]
    if job.slices[move.slice].nodes == list(move.nodes):
        take_away(trial, domain, job, move.slice)
        trial.take_slice(move.to)
        if job.width > 1:
            trial.space.add_want(trial.topology.domain_index[move.to.domain], job.request.spares)
        return
    first = trial.topology.domains[domain].first  # it has its new ones, and is about to leave the old
    left = [trial.topology.index[name] - first for name in move.nodes if name in job.leaving and name in trial.topology.index]
    trial.space.give_mask(domain, sum(1 << bit for bit in left))


def _told_plan(question: Question, known: ActivePlan, *, running: bool) -> Counterfactual:
    if running:
        text = f"{question.will} when plan {known.id} is done, which runs: {known.done} of {len(known.plan.moves)} moves"
    else:
        text = f"{question.would} if plan {known.id} were approved"
    cost = None if running else in_gpu_hours(sum(move.lost for move in known.plan.moves) * SECOND)
    return Counterfactual(kind=Kind.PLAN, text=text, params={"plan": known.id}, cost_gpu_hours=cost)


def space_free(question: Question) -> Counterfactual | None:
    """The first time at which nodes kept for others by a claim are anybody's again, where that alone makes room."""
    claims = [kept for kept in question.state.reservations.values() if is_claim(kept) and kept.job != question.job.id]
    for kept in sorted(claims, key=lambda kept: (kept.expires_at or 0, kept.job)):
        at = kept.expires_at or 0
        if question.fits(_given_up(kept)) and question.starts(_given_up(kept), at=max(at, question.now)):
            return _told_space(question, kept, at)
    return None


def _given_up(kept: Reservation) -> Change:
    def change(trial: Trial) -> None:
        trial.give_up(kept.job)

    return change


def _told_space(question: Question, kept: Reservation, at: int) -> Counterfactual:
    whom = f"for job {kept.job}" if kept.job else "as whole domains"
    when = f" in about {about(at - question.now)}," if at > question.now else ""
    text = f"{question.will}{when} when what is kept {whom} is anybody's again"
    return Counterfactual(kind=Kind.SPACE, text=text, params={"job": kept.job, "nodes": kept.nodes}, at=at)
