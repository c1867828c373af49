"""What the policy, and what was done of late, allow a plan: cool-downs, exempt teams, budgets."""

from __future__ import annotations

from collections import Counter

from clusters.domain.defrag import Plan, PlanStatus
from clusters.domain.evolve_defrag import BUDGET_WINDOW
from clusters.domain.ids import SECOND, Instant
from clusters.domain.setting import DefragMode
from clusters.domain.state import ClusterState
from scheduling.domain.defrag.problem import Terms
from scheduling.domain.defrag.vain import Vain, out_of_budget


def terms_of(state: ClusterState, now: Instant) -> Terms:
    """What a plan that is looked for may do now. In auto mode it is made to fit what is left of the budgets."""
    policy = state.policy
    exempt = {row.team for row in policy.exempt}
    most = policy.defrag_moves
    if policy.defrag_mode is DefragMode.AUTO:
        jobs, teams = _spent(state, now)
        most = min(most, max(0, policy.defrag_jobs_per_hour - jobs))
        present = {job.request.team for job in state.jobs.values()}
        exempt |= {team for team in present if team and teams[team] >= policy.defrag_team_per_hour}
    return Terms(exempt=frozenset(exempt), cooling=_cooling(state, now), most_moves=most)


def terms_for(state: ClusterState, now: Instant, plan: str = "") -> Terms:
    """What a plan that there is must hold to. Budgets are left aside: a person may go beyond them."""
    return Terms(exempt=frozenset(row.team for row in state.policy.exempt), cooling=_cooling(state, now, apart=plan))


def over_budget(state: ClusterState, plan: Plan, now: Instant) -> str:
    """Which budget the plan would exceed now, in words; "" where none."""
    policy = state.policy
    jobs, teams = _spent(state, now)
    victims = dict.fromkeys(move.job for move in plan.moves)
    if jobs + len(victims) > policy.defrag_jobs_per_hour:
        return f"{jobs} jobs were disturbed in the last hour, and {len(victims)} more would be; {policy.defrag_jobs_per_hour} are allowed"
    wanted = Counter(state.jobs[name].request.team for name in victims if name in state.jobs)
    for team, count in sorted(wanted.items()):
        if team and teams[team] + count > policy.defrag_team_per_hour:
            return f"team {team} would have {teams[team] + count} jobs disturbed in an hour; {policy.defrag_team_per_hour} are allowed"
    return ""


def unasked(state: ClusterState, now: Instant) -> Vain | None:
    """Why nothing may be disturbed now, whatever the plan; None where something may."""
    terms = terms_of(state, now)
    return (
        None
        if terms.most_moves
        else out_of_budget(_spent(state, now)[0], min(state.policy.defrag_moves, state.policy.defrag_jobs_per_hour))
    )


def _spent(state: ClusterState, now: Instant) -> tuple[int, Counter[str]]:
    """Jobs that plans have disturbed in the last hour: all, and by team."""
    late = [past for past in state.disturbed if now - past.at < BUDGET_WINDOW]
    return len(late), Counter(past.team for past in late)


def _cooling(state: ClusterState, now: Instant, apart: str = "") -> frozenset[str]:
    """Jobs that were disturbed of late, or are about to be by a plan that runs, one apart."""
    cooldown = state.policy.defrag_cooldown_s * SECOND
    late = {job.id for job in state.jobs.values() if job.disturbed_at is not None and now - job.disturbed_at < cooldown}
    running = (known.plan for known in state.defrag.values() if known.status is PlanStatus.RUNNING and known.id != apart)
    return frozenset(late.union(move.job for plan in running for move in plan.moves))
