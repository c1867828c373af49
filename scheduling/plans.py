"""Plans that make room: what people decide about them, and the search for them in the background.

A search takes seconds in a child process, so it never holds anything up: the question is read from the live state, the answer is written
out on the state that it was asked on, and comes back as a command, which is decided on the state as it is by then. Where that has changed
too much, the first plan that a quick search finds on it is proposed in its place. One search goes on at a time for each cluster, whichever
process has begun it; what has been tried is not tried again before the state has changed, and some time has passed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from django.db import connections

from clusters.domain.clock import cluster_now
from clusters.domain.commands import ApprovePlan, DropRoom, ProposePlan, RejectPlan, RequestRoom, ReviewPlans
from clusters.domain.decision import Refusal
from clusters.domain.defrag import Plan, PlanAim, PlanStatus
from clusters.domain.errors import ClusterError
from clusters.domain.evolve import evolve
from clusters.domain.health import SCHEDULER
from clusters.domain.ids import SECOND, Instant
from clusters.domain.state import ClusterState
from clusters.eventlog.live import live
from clusters.eventlog.log import wall_now
from clusters.eventlog.models import Cluster
from clusters.eventlog.port import Committed
from clusters.eventlog.request import Request
from clusters.eventlog.store import commit, default_log
from scheduling import searches
from scheduling.domain.decide import decide
from scheduling.domain.defrag.cascade import first_plan
from scheduling.domain.defrag.model import Problem, Solution
from scheduling.domain.defrag.plan import plan_of
from scheduling.domain.defrag.vain import Vain, outdated, why_none
from scheduling.domain.defrag_commands import MOST_REASON
from scheduling.domain.defrag_terms import unasked
from scheduling.domain.defrag_trigger import Cause, causes, problem_of
from scheduling.domain.trial import Trial
from scheduling.models import PlanSearch
from scheduling.services import command_commit
from scheduling.solver import child

logger = logging.getLogger(__name__)

#: After a search in vain the processor is left to others for so long.
REST = 10 * SECOND

#: Beyond the time of the search, a search that has not ended is taken for lost after so long.
LOST = 15 * SECOND

#: Begins a search, and calls back once with what it has found.
Start = Callable[[Problem, float, child.Deliver], object]


def in_child(problem: Problem, seconds: float, deliver: child.Deliver) -> child.Child:
    """Search in a child process; its thread keeps no connection to the database."""

    def deliver_and_close(solution: Solution | None) -> None:
        try:
            deliver(solution)
        finally:
            connections.close_all()

    return child.start(problem, seconds, deliver_and_close)


def plan_approve(*, cluster: str, plan: str, by: str, request_id: str | None = None) -> Refusal | None:
    """Have a proposed plan carried out."""
    return _refusal(command_commit(cluster=cluster, command=ApprovePlan(plan=plan, by=by), by=by, request_id=request_id))


def plan_reject(*, cluster: str, plan: str, by: str, reason: str = "", request_id: str | None = None) -> Refusal | None:
    """Do away with a proposed plan."""
    return _refusal(command_commit(cluster=cluster, command=RejectPlan(plan=plan, by=by, reason=reason), by=by, request_id=request_id))


def room_request(
    *, cluster: str, domains: int, by: str, reason: str = "", at: Instant | None = None, request_id: str | None = None
) -> Refusal | None:
    """Have whole domains freed, now or by a time of the cluster's clock: a plan for it is looked for in the background."""
    command = RequestRoom(domains=domains, by=by, reason=reason, at=at)
    return _refusal(command_commit(cluster=cluster, command=command, by=by, request_id=request_id))


def room_drop(*, cluster: str, by: str, reason: str = "", request_id: str | None = None) -> Refusal | None:
    """Whole domains are wanted no more."""
    return _refusal(command_commit(cluster=cluster, command=DropRoom(by=by, reason=reason), by=by, request_id=request_id))


def plans_review(cluster: str) -> bool:
    """Do away with proposals that no longer hold; whether there were any. Raises UnknownCluster."""
    with live(cluster).reading() as state:
        if not any(known.status is PlanStatus.PROPOSED for known in state.defrag.values()):
            return False
    outcome = _commit(cluster, ReviewPlans())
    return isinstance(outcome, Committed) and bool(outcome.events)


def plans_forget_removed() -> int:
    """Drop what is kept of searches in logs that are no longer there; returns how many."""
    return PlanSearch.objects.exclude(epoch__in=Cluster.objects.values("epoch")).delete()[0]


class _Question(NamedTuple):
    """What a search is for."""

    cluster: str
    epoch: str
    cause: Cause
    problem: Problem


def plan_search(cluster: str, start: Start = in_child) -> object | None:
    """Begin a search for what calls for one most urgently; what `start` returned, or None where there is nothing to search for now.

    Raises UnknownCluster.
    """
    followed = live(cluster)
    wall = wall_now()
    with followed.reading() as state:
        epoch, seconds = followed.position.epoch, state.policy.defrag_seconds
        if next(causes(state, cluster_now(state, wall)), None) is None:
            return None
    if not searches.claim(epoch, wall, wall + seconds * SECOND + LOST):
        return None
    question = _question(cluster, epoch, wall)
    if question is None:
        searches.release(epoch)
        return None
    return start(question.problem, seconds, lambda solution: _deliver(question, solution))


def _question(cluster: str, epoch: str, wall: Instant) -> _Question | None:
    """What is to be searched for now, noted as tried; None where all has been tried of late, or there is nothing to ask."""
    tried = searches.tried(epoch)
    with live(cluster).reading() as state:
        now, seq = cluster_now(state, wall), state.seq
        found = list(causes(state, now))
        cause = next((cause for cause in found if not searches.is_vain(tried.get(cause.job), seq, wall)), None)
        problem = problem_of(Trial(state, now), cause) if cause is not None else None
        why = unasked(state, now) if problem is None else None
    if cause is None:
        return None
    wanting = {other.job for other in found}
    searches.note_tried(epoch, tried, wanting, (cause.job, seq, wall))
    if problem is None:
        searches.note_vain(epoch, None if why is None else searches.vain_of(cause.job, now, why), cause.job, wanting)
        return None
    return _Question(cluster, epoch, cause, problem)


def _deliver(question: _Question, solution: Solution | None) -> None:
    """The search is over."""
    found = False
    try:
        found = _propose(question, solution)
    except ClusterError:  # the cluster is gone, or cannot be read; the next search will tell
        logger.exception("a plan for cluster %r could not be proposed", question.cluster)
    finally:
        searches.release(question.epoch, 0 if found else wall_now() + REST)


def _propose(question: _Question, solution: Solution | None) -> bool:
    """Whether there is a plan to decide on."""
    cluster, cause, problem = question.cluster, question.cause, question.problem
    if solution is None:
        why = why_none(problem)
        _say(question, why)
        _give_up(question, why)
        return False
    state = state_at(cluster, problem.at_seq)
    outcome = _offer(question, plan_of(Trial(state, problem.at), problem, solution))
    if isinstance(outcome, Refusal):
        logger.info("cluster %r: the plan found for %s does not hold any more (%s)", cluster, cause.job or "whole domains", outcome.message)
        hasty = _quick(cluster, cause)
        if hasty is None or isinstance(_offer(question, hasty), Refusal):
            _say(question, outdated(outcome.message))
            return False
    _say(question, None)
    return True


def _say(question: _Question, why: Vain | None) -> None:
    """Keep for people why there is no plan, or that there is one."""
    problem = question.problem
    found = None if why is None else searches.vain_of(question.cause.job, problem.at, why, problem.narrowed)
    searches.note_vain(question.epoch, found, question.cause.job)


def _offer(question: _Question, plan: Plan) -> Committed | Refusal:
    return _commit(question.cluster, ProposePlan(plan=plan, reason=question.cause.reason))


def _quick(cluster: str, cause: Cause) -> Plan | None:
    """A first plan on the state as it is now."""
    with live(cluster).reading() as state:
        now = cluster_now(state, wall_now())
        if cause.job not in {still.job for still in causes(state, now)}:
            return None
        trial = Trial(state, now)
        problem = problem_of(trial, cause)
        solution = first_plan(problem) if problem is not None else None
        return plan_of(trial, problem, solution) if problem is not None and solution is not None else None


def _give_up(question: _Question, why: Vain) -> None:
    """There is no plan. Whoever wants whole domains is told; a job is told by its refusal."""
    if question.cause.aim is not PlanAim.DOMAINS:
        return
    with live(question.cluster).reading() as state:
        room, now = state.room, cluster_now(state, wall_now())
        due = room is not None and (room.at is None or room.at <= now)
    if due:
        _commit(question.cluster, DropRoom(by=SCHEDULER, reason=f"no plan was found: {why.message}"[:MOST_REASON]))


def state_at(cluster: str, seq: int) -> ClusterState:
    """The state after a position, apart from the live one."""
    return _onward(cluster, default_log().load_snapshot(cluster, seq) or ClusterState(), seq)


def state_near(cluster: str, seq: int, most: int) -> ClusterState | None:
    """The same, or None where more events than these would have to be read for it."""
    state = default_log().load_snapshot(cluster, seq) or ClusterState()
    return _onward(cluster, state, seq) if seq - state.seq <= most else None


def _onward(cluster: str, state: ClusterState, seq: int) -> ClusterState:
    for event in default_log().read(cluster, state.seq, seq - state.seq):
        evolve(state, event)
    return state


def _commit(cluster: str, command: ProposePlan | ReviewPlans | DropRoom) -> Committed | Refusal:
    return commit(cluster, Request(command=command, source=SCHEDULER, request_id=None), decide)


def _refusal(outcome: Committed | Refusal) -> Refusal | None:
    return outcome if isinstance(outcome, Refusal) else None
