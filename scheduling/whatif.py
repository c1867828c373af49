"""What it would take to free whole domains, without asking for it: the plan that would be proposed now. Nothing is stored."""

from __future__ import annotations

from clusters.domain.clock import cluster_now
from clusters.domain.decision import Refusal
from clusters.domain.defrag import Plan
from clusters.eventlog.live import live
from clusters.eventlog.log import wall_now
from scheduling.domain.defrag.model import Solution
from scheduling.domain.defrag.plan import plan_of
from scheduling.domain.defrag.problem import Problem, problem_for_domains
from scheduling.domain.defrag.vain import why_none
from scheduling.domain.defrag_terms import terms_of
from scheduling.domain.trial import Trial
from scheduling.domain.wording import many
from scheduling.plans import state_at
from scheduling.solver import child

#: Somebody waits for the answer.
MOST_SECONDS = 2.0


def room_what_if(cluster: str, domains: int) -> Plan | Refusal:
    """The plan that frees so many domains; takes seconds. Raises UnknownCluster."""
    with live(cluster).reading() as state:
        policy, trial = state.policy, Trial(state, cluster_now(state, wall_now()))
        most, terms = sum(state.topology.known), terms_of(state, trial.now)
        may_wait, use_spares = policy.defrag_may_wait, policy.defrag_use_spares
        problem = problem_for_domains(trial, domains, may_wait=may_wait, use_spares=use_spares, terms=terms) if domains <= most else None
    if problem is None:
        expected = f"give a whole number from 1 to {most}, the domains of this cluster"
        counts: dict[str, int | str] = {"field": "domains", "value": domains, "expected": expected}
        return Refusal(code="invalid", message=f"domains: {expected}", counts=counts)
    found: list[Solution | None] = []
    child.start(problem, min(MOST_SECONDS, policy.defrag_seconds), found.append).join()
    if not found or found[0] is None:
        return _none(problem)
    return plan_of(Trial(state_at(cluster, problem.at_seq), problem.at), problem, found[0])


def _none(problem: Problem) -> Refusal:
    """Why no plan was found, in words and counts: what is free now, what stands against more, and the domain that comes nearest to it."""
    vain = why_none(problem)
    (wanted,) = problem.counts
    domains = [domain for index, domain in enumerate(problem.domains) if problem.targets >> index & 1]
    empty = sum(0 < domain.most == domain.free and not domain.pinned for domain in domains)
    counts: dict[str, int | str] = {**vain.counts, "empty": empty}
    words = [f"no plan can free {many(wanted, 'whole domain')}: {empty} {'is' if empty == 1 else 'are'} free now", vain.message]
    held = sorted((len({job for job, _, _ in domain.pinned}), domain.name) for domain in domains if domain.pinned)
    if held:
        stay, best = held[0]
        counts |= {"best_domain": best, "best_stay": stay}
        words.append(f"of those that work stays in, {best} comes nearest with {many(stay, 'job')}")
    return Refusal(code="state", message="; ".join(words), counts=dict(sorted(counts.items())))
