"""What calls for a plan: a job that topology keeps waiting, a stalled slice, or somebody who wants whole domains.

A plan is only made for a refusal that still stands at the moment that it is made, and for one job at a time. A job that a plan was rejected
for is left as it is for the time of a cool-down.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusters.domain.decision import Refusal
from clusters.domain.defrag import Plan, PlanAim
from clusters.domain.ids import MINUTE, SECOND, Duration, Instant
from clusters.domain.jobs import QUEUED, TERMINAL, JobState
from clusters.domain.reservations import is_claim
from clusters.domain.setting import DefragMode
from clusters.domain.state import ClusterState, Job
from scheduling.domain.defrag.problem import Problem, problem_for_domains, problem_for_job
from scheduling.domain.defrag_terms import terms_of
from scheduling.domain.recovery_budget import holds_for_budget
from scheduling.domain.refusals import TOPOLOGY
from scheduling.domain.trial import Trial
from scheduling.domain.waiting import counted
from scheduling.domain.wording import exactly

#: Domains that are wanted at a time are begun with so long before.
LEAD: Duration = 30 * MINUTE

#: The aims of plans for jobs that wait in the queue.
WAITING_AIMS = frozenset({PlanAim.JOB, PlanAim.PRIORITY, PlanAim.QUOTA})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Something that calls for a plan."""

    aim: PlanAim
    job: str  # "" for whole domains
    reason: str


def causes(state: ClusterState, now: Instant) -> Iterator[Cause]:
    """All that calls for a plan now, the most urgent first: stalled slices, whole domains, then jobs by how long they have been blocked."""
    planned = {known.plan.job for known in state.defrag.values()}
    if state.policy.defrag_mode is not DefragMode.OFF:
        for name in sorted(state.lost - planned, key=lambda name: (-state.jobs[name].priority, state.jobs[name].seq)):
            if _lacks_room(state.jobs[name]) and not _is_unwanted(state, state.jobs[name], now):
                yield Cause(aim=PlanAim.STALL, job=name, reason="a slice of it is stalled")
    room = state.room
    if room is not None and "" not in planned and (room.at is None or room.at - LEAD <= now):
        yield Cause(aim=PlanAim.DOMAINS, job="", reason=f"{room.by} wants {room.domains} whole domains: {room.reason or 'no reason given'}")
    if state.policy.defrag_mode is not DefragMode.OFF:
        blocked = (state.jobs[name] for name in state.queue)
        found = [job for job in blocked if job.id not in planned and is_due(state, job, now) and not _is_unwanted(state, job, now)]
        for job in sorted(found, key=lambda job: (job.blocked_since, job.seq)):
            yield Cause(aim=PlanAim.JOB, job=job.id, reason=f"topology-blocked for {_span(now - job.blocked_since)}")


def left_alone(state: ClusterState, now: Instant) -> Iterator[tuple[PlanAim, Job, Instant]]:
    """What would call for a plan, had none been rejected of late: (aim, job, when it does again)."""
    if state.policy.defrag_mode is DefragMode.OFF:
        return
    stalled = [(PlanAim.STALL, state.jobs[name]) for name in sorted(state.lost) if _lacks_room(state.jobs[name])]
    blocked = [(PlanAim.JOB, state.jobs[name]) for name in state.queue if is_due(state, state.jobs[name], now)]
    for aim, job in (*stalled, *blocked):
        if job.unwanted_at is not None and _is_unwanted(state, job, now):
            yield aim, job, job.unwanted_at + state.policy.defrag_cooldown_s * SECOND


def _span(time: Duration) -> str:
    return exactly(time // MINUTE * 60 or max(1, time // SECOND))


def is_due(state: ClusterState, job: Job, now: Instant) -> bool:
    """Whether topology has kept the job waiting for as long as the policy says."""
    return job.blocked == TOPOLOGY and now - job.blocked_since >= state.policy.defrag_wait_s * SECOND


def problem_of(trial: Trial, cause: Cause) -> Problem | None:
    """The question that a plan would answer; None where there is none: the refusal does not stand any more, or nothing may move."""
    policy = trial.policy
    terms = terms_of(trial.state, trial.now)
    may_wait, use_spares = policy.defrag_may_wait, policy.defrag_use_spares
    if cause.aim is PlanAim.DOMAINS:
        room = trial.state.room
        if room is None:
            return None
        return problem_for_domains(trial, room.domains, may_wait=may_wait, use_spares=use_spares, terms=terms)
    job = trial.state.jobs[cause.job]
    if not terms.most_moves or not_wanted(trial, cause.aim, job):
        return None
    return problem_for_job(trial, job, may_wait=may_wait, use_spares=use_spares, aim=cause.aim, terms=terms)


def not_wanted(trial: Trial, aim: PlanAim, job: Job) -> str:
    """Why no room is to be made for the job any more, in words; "" where there still is."""
    if aim is PlanAim.STALL:
        return "" if _lacks_room(job) else f"job {job.id} lacks no room any more"
    if job.state not in QUEUED:
        return f"job {job.id} is {job.state} and does not wait"
    refusal = counted(trial, job)
    if not isinstance(refusal, Refusal):
        return f"there is room for job {job.id} by now"
    if aim is PlanAim.JOB and refusal.code != TOPOLOGY and not is_claim(trial.kept.get(job.id)):
        return f"job {job.id} waits for another reason by now: {refusal.code}"
    return ""


def is_over(state: ClusterState, plan: Plan) -> str:
    """Why the plan has nothing to be for any more, in words and without looking for places; "" where it has, or has reached its aim."""
    if plan.aim is PlanAim.DOMAINS:
        return ""
    job = state.jobs.get(plan.job)
    if job is None or job.state in TERMINAL or job.state is JobState.STOPPING:
        return f"job {plan.job} has ended"
    if plan.aim in WAITING_AIMS and job.state is JobState.HELD:
        return f"job {plan.job} is held"
    if plan.aim is PlanAim.STALL and job.state in QUEUED:
        return f"job {plan.job} waits in the queue by now"
    return ""


def is_pointless(state: ClusterState, plan: Plan) -> str:
    """Why a proposal has nothing to be for any more, in words and without looking for places; "" where it has."""
    if (over := is_over(state, plan)) or plan.aim is PlanAim.DOMAINS:
        return over
    job = state.jobs[plan.job]
    wanted = job.state in QUEUED if plan.aim in WAITING_AIMS else _lacks_room(job)
    return "" if wanted else f"job {job.id} needs no room any more"


def _lacks_room(job: Job) -> bool:
    """Whether a slice of it is stalled for want of a place, and not because the job holds for a time."""
    return job.state is JobState.STALLED and bool(job.lost_slots) and not holds_for_budget(job)


def _is_unwanted(state: ClusterState, job: Job, now: Instant) -> bool:
    return job.unwanted_at is not None and now - job.unwanted_at < state.policy.defrag_cooldown_s * SECOND
