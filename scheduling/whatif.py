"""What it would take to free whole domains, without asking for it: the plan that would be proposed now. Nothing is stored."""

from __future__ import annotations

from clusters.domain.clock import cluster_now
from clusters.domain.decision import Refusal
from clusters.domain.defrag import Plan
from clusters.eventlog.live import live
from clusters.eventlog.log import wall_now
from scheduling.domain.defrag.model import Solution
from scheduling.domain.defrag.plan import plan_of
from scheduling.domain.defrag.problem import problem_for_domains
from scheduling.domain.defrag_terms import terms_of
from scheduling.domain.trial import Trial
from scheduling.plans import state_at
from scheduling.solver import child

#: Somebody waits for the answer.
MOST_SECONDS = 2.0


def room_what_if(cluster: str, domains: int) -> Plan | Refusal:
    """The plan that frees so many domains; takes seconds. Raises UnknownCluster."""
    with live(cluster).reading() as state:
        policy, trial = state.policy, Trial(state, cluster_now(state, wall_now()))
        terms, most = terms_of(state, trial.now), sum(state.topology.known)
        if not 1 <= domains <= most:
            expected = f"give a whole number from 1 to {most}, the domains of this cluster"
            counts: dict[str, int | str] = {"field": "domains", "value": domains, "expected": expected}
            return Refusal(code="invalid", message=f"domains: {expected}", counts=counts)
        may_wait, use_spares = policy.defrag_may_wait, policy.defrag_use_spares
        problem = problem_for_domains(trial, domains, may_wait=may_wait, use_spares=use_spares, terms=terms)
    found: list[Solution | None] = []
    if problem is not None:
        child.start(problem, min(MOST_SECONDS, policy.defrag_seconds), found.append).join()
    if problem is None or not found or found[0] is None:
        return _none(domains, terms.most_moves)
    return plan_of(Trial(state_at(cluster, problem.at_seq), problem.at), problem, found[0])


def _none(domains: int, most_moves: int | None) -> Refusal:
    limit = (
        "" if most_moves is None else f"; the policy lets a plan disturb {most_moves} workload{'' if most_moves == 1 else 's'} at most now"
    )
    return Refusal(code="state", message=f"no plan can free {domains} whole domain{'' if domains == 1 else 's'}{limit}")
