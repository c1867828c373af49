"""Plans on clusters at random: they walk, hold, and cost no more than the obvious."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.domain.defrag import Plan, PlanAim
from scheduling.domain.defrag.cascade import first_plan
from scheduling.domain.defrag.checker import check
from scheduling.domain.defrag.model import Problem, Solution
from scheduling.domain.defrag.plan import plan_of
from scheduling.domain.defrag.problem import problem_for_domains, problem_for_job
from scheduling.domain.defrag.words import certificate
from scheduling.solver import solve
from tests.domain.scheduling.defrag.fleets import blocked, busy, trial_of
from tests.support.world import World

SECONDS = 30.0


def ask_for_room(seed: int, *, may_wait: bool, use_spares: bool) -> tuple[World, Problem | None]:
    world = busy(seed)
    name = blocked(world, seed)
    trial = trial_of(world)
    if name is None:
        return world, problem_for_domains(trial, 1 + seed % 2, may_wait=may_wait, use_spares=use_spares)
    aim = PlanAim.QUOTA if seed % 3 == 0 else PlanAim.JOB
    return world, problem_for_job(trial, world.job(name), may_wait=may_wait, use_spares=use_spares, aim=aim)


def evict_all(problem: Problem) -> int | None:
    """What it costs to stop all work in the best single domain, where that is allowed and would do."""
    if sum(problem.counts) > 1:
        return None
    prices: list[int] = []
    for index in range(len(problem.domains)):
        owners = {unit.owner for unit in problem.units if unit.domain == index}
        waits = [problem.owners[owner].wait for owner in owners]
        if problem.ways(index) and None not in waits:
            prices.append(sum(wait for wait in waits if wait is not None))
    return min(prices, default=None)


def sound(world: World, problem: Problem, solution: Solution) -> Plan:
    plan = plan_of(trial_of(world), problem, solution)
    assert check(world.state, plan, problem.terms) == []
    assert certificate(plan)
    for move in plan.moves:  # each victim has a place, or the word that it waits
        allowed = any(move.job in owner.jobs and owner.wait is not None for owner in problem.owners)
        assert move.to is not None or allowed
    return plan


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), may_wait=st.booleans(), use_spares=st.booleans())
def test_every_plan_walks_and_none_costs_more_than_emptying_the_best_domain(seed: int, may_wait: bool, use_spares: bool) -> None:
    world, problem = ask_for_room(seed, may_wait=may_wait, use_spares=use_spares)
    if problem is None:
        return
    first, found = first_plan(problem), solve(problem, SECONDS)
    if first is not None:
        assert found is not None
        assert found.cost <= sound(world, problem, first).cost
    obvious = evict_all(problem)
    if obvious is not None and problem.most_moves is None and not problem.areas:
        assert found is not None
        assert found.cost <= obvious
    if found is not None:
        plan = sound(world, problem, found)
        assert plan.optimal
        assert plan.slice_only is None or plan.slice_only <= plan.cost


@pytest.mark.parametrize("may_wait", [pytest.param(False, marks=pytest.mark.slow), True])
def test_plans_of_both_kinds_are_among_them(may_wait: bool) -> None:
    """So that the property above is not about nothing."""
    moves = waits = 0
    for seed in range(20):
        world, problem = ask_for_room(seed, may_wait=may_wait, use_spares=True)
        found = None if problem is None else solve(problem, SECONDS)
        if problem is not None and found is not None:
            plan = plan_of(trial_of(world), problem, found)
            moves += sum(move.to is not None for move in plan.moves)
            waits += sum(move.to is None for move in plan.moves)
    assert moves
    assert bool(waits) == may_wait
