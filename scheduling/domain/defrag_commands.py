"""Commands on plans that make room.

A search takes seconds, and the cluster goes on meanwhile: each plan is checked against the state it meets, when it is proposed, when it is
approved, and when its first step is due. One that no longer holds is refused, or done away with.
"""

from __future__ import annotations

from clusters.domain.commands import ApprovePlan, DropRoom, ProposePlan, RejectPlan, RequestRoom, ReviewPlans
from clusters.domain.decision import Decision, Refusal
from clusters.domain.defrag import ActivePlan, Plan, PlanAim, PlanStatus
from clusters.domain.defrag_events import DefragAborted, DefragApproved, DefragPlanned, DefragRejected, RoomDropped, RoomRequested
from clusters.domain.events import Payload
from clusters.domain.ids import Instant
from clusters.domain.setting import DefragMode
from clusters.domain.state import ClusterState
from scheduling.domain.defrag.checker import check
from scheduling.domain.defrag_terms import over_budget, terms_for
from scheduling.domain.defrag_trigger import is_over, not_wanted
from scheduling.domain.trial import Trial

#: Who approves in auto mode.
POLICY = "policy"

MOST_REASON = 200


def propose_plan(state: ClusterState, command: ProposePlan, now: Instant) -> Decision | Refusal:
    """The plan waits for a decision, if it is still wanted and holds on the state as it is now."""
    plan = command.plan
    if any(known.plan.job == plan.job for known in state.defrag.values()):
        return Refusal(code="state", message=f"there is a plan for {plan.job or 'whole domains'} already")
    if plan.aim is PlanAim.DOMAINS:
        if state.room is None or state.room.domains != len(plan.domains):
            return Refusal(code="state", message="nobody wants these domains any more")
    elif state.policy.defrag_mode is DefragMode.OFF:
        return Refusal(code="policy", message="the policy wants no plans")
    elif not plan.moves:
        return Refusal(code="state", message="nothing would move")
    elif why := _stale(state, plan, now):
        return Refusal(code="state", message=why)
    if problems := check(state, plan, terms_for(state, now), now):
        return Refusal(code="state", message=f"the plan does not hold any more: {'; '.join(problems)}")
    return Decision(events=(DefragPlanned(proposal=plan, reason=command.reason),))


def approve_plan(state: ClusterState, command: ApprovePlan, now: Instant) -> Decision | Refusal:
    """A person has it carried out, whatever the budgets say."""
    known = _proposed(state, command.plan)
    if isinstance(known, Refusal):
        return known
    if why := outdated(state, known, now):
        return Refusal(code="state", message=f"plan {known.id} does not hold any more: {why}")
    return Decision(events=(DefragApproved(plan=known.id, by=command.by),))


def reject_plan(state: ClusterState, command: RejectPlan, _: Instant) -> Decision | Refusal:
    """A person does not want it; none is made for the same job for a while."""
    known = _proposed(state, command.plan)
    if isinstance(known, Refusal):
        return known
    return Decision(events=(DefragRejected(plan=known.id, by=command.by, reason=command.reason[:MOST_REASON]),))


def request_room(state: ClusterState, command: RequestRoom, _: Instant) -> Decision | Refusal:
    """A plan for so many whole domains is looked for from now on, or in time for when they are wanted."""
    most = sum(state.topology.known)
    if not 1 <= command.domains <= most:
        expected = f"give a whole number from 1 to {most}, the domains of this cluster"
        counts: dict[str, int | str] = {"field": "domains", "value": command.domains, "expected": expected}
        return Refusal(code="invalid", message=f"domains: {expected}", counts=counts)
    if any(known.plan.aim is PlanAim.DOMAINS for known in state.defrag.values()):
        return Refusal(code="state", message="there is a plan for whole domains already; reject it, or let it end")
    reason = command.reason[:MOST_REASON]
    return Decision(events=(RoomRequested(domains=command.domains, by=command.by, reason=reason, at=command.at),))


def drop_room(state: ClusterState, command: DropRoom, _: Instant) -> Decision | Refusal:
    """No plan for whole domains is looked for any more."""
    if state.room is None:
        return Refusal(code="state", message="nobody wants whole domains")
    return Decision(events=(RoomDropped(by=command.by, reason=command.reason[:MOST_REASON]),))


def review_plans(state: ClusterState, _: ReviewPlans, now: Instant) -> Decision:
    """Proposals that no longer hold are done away with."""
    return Decision(events=tuple(event for known in state.defrag.values() for event in reviewed(state, known, now)))


def reviewed(state: ClusterState, known: ActivePlan, now: Instant) -> list[Payload]:
    """What becomes of a proposal at this moment: nothing, its end, or, in auto mode and within the budgets, its approval."""
    if known.status is not PlanStatus.PROPOSED:
        return []
    if why := outdated(state, known, now):
        return [DefragAborted(plan=known.id, status=PlanStatus.EXPIRED, reason=why)]
    if state.policy.defrag_mode is DefragMode.AUTO and not over_budget(state, known.plan, now):
        return [DefragApproved(plan=known.id, by=POLICY)]
    return []


def outdated(state: ClusterState, known: ActivePlan, now: Instant) -> str:
    """Why the plan does not hold on the state as it is now, in words; "" where it does."""
    return _stale(state, known.plan, now) or "; ".join(check(state, known.plan, terms_for(state, now, known.id), now))


def _stale(state: ClusterState, plan: Plan, now: Instant) -> str:
    over = is_over(state, plan)
    if over or plan.aim is PlanAim.DOMAINS:
        return over
    return not_wanted(Trial(state, now), plan.aim, state.jobs[plan.job])


def _proposed(state: ClusterState, name: str) -> ActivePlan | Refusal:
    known = state.defrag.get(name)
    if known is None:
        return Refusal(code="unknown", message=f"there is no plan {name} in this cluster that waits or runs")
    if known.status is not PlanStatus.PROPOSED:
        return Refusal(code="state", message=f"plan {name} was approved by {known.by} already")
    return known
