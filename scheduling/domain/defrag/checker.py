"""Checking a plan: walk it step by step on a copy of who holds what, and name all that is wrong.

It shares no code with the search: it looks at nodes and not at counts, and works out prices anew. What it shares is what defines placement:
where a slice may lie beside the others of its job, and where a request would run.

A plan that is checked on a later state than it was made on is held to everything but its prices, which were right when it was made.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusters.domain.decision import Refusal
from clusters.domain.defrag import Plan, PlanAim
from clusters.domain.ids import Instant
from clusters.domain.jobs import ACTIVE
from clusters.domain.state import ClusterState, Job
from scheduling.domain.defrag.model import Terms
from scheduling.domain.defrag.prices import prices_of
from scheduling.domain.defrag.walk import Walk
from scheduling.domain.placement import place, place_shape
from scheduling.domain.shape import slice_shape
from scheduling.domain.tethers import tether
from scheduling.domain.trial import Trial

_USUAL = Terms()


def check(state: ClusterState, plan: Plan, terms: Terms = _USUAL, now: Instant | None = None) -> list[str]:
    """What is wrong with the plan on this state, now or (None) when it was made; empty where nothing is."""
    walk = Walk(state, plan, terms, plan.at if now is None else now)
    problems: list[str] = []
    for step, move in enumerate(plan.moves):
        wrong = list(walk.step(move))
        problems += [f"step {step}: {text}" for text in wrong]
        if wrong:
            return problems  # what comes after it is built on it
    problems += walk.ended()
    problems += _goal(state, plan, walk)
    problems += _sums(state, plan, terms)
    return problems


def _goal(state: ClusterState, plan: Plan, walk: Walk) -> Iterator[str]:
    """What the plan is for can happen at its end, on the nodes that it names."""
    if not plan.domains:
        yield "it frees no domain"
    yield from walk.unfree(plan.nodes, plan.domains)
    if plan.aim is PlanAim.DOMAINS:
        for domain in plan.domains:
            if left := walk.work_in(domain):
                yield f"{domain} is not empty: {', '.join(left)}"
        return
    job = state.jobs.get(plan.job)
    if job is None:
        yield f"{plan.job} is no job of this cluster any more"
    elif not _fits(state, plan, job, walk):
        yield f"{job.id} does not fit on the nodes that are freed for it"


def _fits(state: ClusterState, plan: Plan, job: Job, walk: Walk) -> bool:
    """Whether placement would put the job, or its slice that lacks nodes, on these nodes and no others."""
    space = walk.space_of(plan.nodes)
    if job.state not in ACTIVE:
        return not isinstance(place(space, job.request, state.policy), Refusal)
    short = next((number for number, part in enumerate(job.slices) if part.lost), None)
    if short is None:
        return False
    shape = slice_shape(state.topology, job.request, state.policy, len(job.slices[short].nodes))
    return not isinstance(place_shape(space, shape, state.policy, (tether(state.topology, job, short),)), Refusal)


def _sums(state: ClusterState, plan: Plan, terms: Terms) -> Iterator[str]:
    total = sum(move.cost for move in plan.moves)
    if total != plan.cost:
        yield f"its moves cost {total}, not {plan.cost}"
    if not 0 <= plan.bound <= plan.cost:
        yield f"its bound is {plan.bound} with a cost of {plan.cost}"
    if plan.slice_only is not None and plan.slice_only > plan.cost:
        yield f"room for the slices alone is said to cost more, {plan.slice_only}"
    disturbed = len({move.job for move in plan.moves})
    if terms.most_moves is not None and disturbed > terms.most_moves:
        yield f"it disturbs {disturbed} workloads; {terms.most_moves} are allowed"
    if state.seq == plan.at_seq:
        for step, (move, (cost, lost)) in enumerate(zip(plan.moves, prices_of(Trial(state, plan.at), plan, terms), strict=True)):
            if (move.cost, move.lost) != (cost, lost):
                yield f"step {step}: {move.job} is priced {move.cost} ({move.lost} lost), but costs {cost} ({lost} lost)"
