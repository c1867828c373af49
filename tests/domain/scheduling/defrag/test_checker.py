"""The checker finds what is planted in a plan that holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from clusters.domain.commands import NodeVerb
from clusters.domain.constraints import LevelMode
from clusters.domain.defrag import Plan, PlanAim, PlanMove
from clusters.domain.ids import MINUTE
from clusters.domain.job_events import SliceAssignment
from clusters.domain.jobs import JobKind
from clusters.domain.policy import Policy
from clusters.domain.setting import Backfill
from clusters.domain.space_events import SpaceReserved
from scheduling.domain.defrag.checker import check
from scheduling.domain.defrag.model import Terms
from scheduling.domain.defrag.plan import plan_of
from scheduling.domain.defrag.problem import problem_for_job
from scheduling.domain.trial import Trial
from scheduling.solver import solve
from tests.support.world import World, ask, racks

POLICY = Policy(slice_size=6, target_spares=0, backfill=Backfill.OFF)


def fleet(**fields: Any) -> tuple[World, str, str]:
    """Three racks of six; r1 and r2 hold four nodes of work each, r3 two; a job of six waits; (world, what is on r3, the job)."""
    world = World(racks(3, nodes=6), POLICY)
    for size in (4, 4):
        world.run(ask(size, priority=5))
    fill = [world.run(ask(2)), world.run(ask(2))]
    victim = world.run(ask(2, **fields))
    for job in fill:
        world.finish(job.id)
    world.now += 30 * MINUTE
    name = world.submit(ask(6, priority=5))
    world.settle()
    return world, victim.id, name


def crowd(**fields: Any) -> tuple[World, str, str, Plan]:
    """The same, and a plan."""
    world, victim, name = fleet(**fields)
    return world, victim, name, plan_for(world, name)


def plan_for(world: World, name: str) -> Plan:
    trial = Trial(world.state, world.now)
    problem = problem_for_job(trial, world.job(name), may_wait=False, use_spares=True)
    assert problem is not None
    found = solve(problem, 10.0)
    assert found is not None
    return plan_of(trial, problem, found)


def test_a_plan_that_holds_has_nothing_wrong() -> None:
    world, victim, name, plan = crowd()
    assert check(world.state, plan) == []
    assert [move.job for move in plan.moves] == [victim]
    assert plan.domains == ("r3",)
    assert plan.job == name
    assert plan.cost == plan.bound == 2 * 4 * (120 + 30 * 60)


Planted = Callable[[Plan], Plan]


def move(plan: Plan, **changes: Any) -> Plan:
    return replace(plan, moves=(replace(plan.moves[0], **changes), *plan.moves[1:]))


def to(plan: Plan, *nodes: str, domain: str = "r1") -> Plan:
    return move(plan, to=SliceAssignment(domain=domain, nodes=nodes, gpus=()))


PLANTED: list[tuple[str, Planted, str]] = [
    ("held", lambda plan: to(plan, "r1-n1", "r1-n2"), "is held by"),
    ("straddling", lambda plan: to(plan, "r1-n5", "r2-n5"), "r2-n5 is not in r1"),
    ("short", lambda plan: to(plan, "r1-n5"), "gets 1 nodes for a slice of 2"),
    ("twice the same node", lambda plan: to(plan, "r1-n5", "r1-n5"), "gets 2 nodes"),
    ("unknown node", lambda plan: to(plan, "r1-n5", "r1-n9"), "r1-n9 cannot be used"),
    ("into its own domain", lambda plan: to(plan, "r3-n5", "r3-n6", domain="r3"), "may not move to r3"),
    ("old generation", lambda plan: move(plan, generation=0), "does not run as it did"),
    ("no such slice", lambda plan: move(plan, slice=1), "has no slice 1"),
    ("other nodes", lambda plan: move(plan, nodes=("r3-n1", "r3-n3")), "is not where the plan says"),
    ("twice", lambda plan: replace(plan, moves=plan.moves * 2), "is disturbed twice"),
    ("waits, with other nodes", lambda plan: move(plan, to=None, nodes=("r3-n1",)), "holds other nodes"),
    ("too dear", lambda plan: replace(plan, cost=plan.cost + 1), "its moves cost"),
    ("too cheap", lambda plan: replace(move(plan, cost=1), cost=1, bound=1), "is priced 1"),
    ("other loss", lambda plan: move(plan, lost=7), "(7 lost)"),
    ("bound above cost", lambda plan: replace(plan, bound=plan.cost + 1), "its bound is"),
    ("dear without spares", lambda plan: replace(plan, slice_only=plan.cost + 1), "slices alone"),
    ("nothing moves", lambda plan: replace(plan, moves=(), cost=0, bound=0), "is not free in the end"),
    ("too few nodes", lambda plan: replace(plan, nodes=plan.nodes[:5]), "does not fit on the nodes"),
    ("other domain", lambda plan: replace(plan, domains=("r2",)), "is in none of the domains"),
    ("no domain", lambda plan: replace(plan, domains=(), nodes=()), "it frees no domain"),
    ("another job", lambda plan: replace(plan, job="j999999"), "is no job of this cluster"),
    ("makes room for itself", lambda plan: replace(plan, job=plan.moves[0].job), "would make room for itself"),
    ("domains that are not empty", lambda plan: replace(plan, aim=PlanAim.DOMAINS, job="", domains=("r1", "r3")), "r1 is not empty"),
]


@pytest.mark.parametrize(("planted", "told"), [row[1:] for row in PLANTED], ids=[row[0] for row in PLANTED])
def test_what_is_planted_is_found(planted: Planted, told: str) -> None:
    world, _, _, plan = crowd()
    assert any(told in problem for problem in check(world.state, planted(plan))), check(world.state, planted(plan))


def test_two_slices_that_take_each_others_places_are_a_cycle() -> None:
    world = World(racks(2, nodes=6), POLICY)
    jobs = [world.run(ask(6)), world.run(ask(6))]
    moves = tuple(
        PlanMove(
            job=job.id,
            generation=job.generation,
            slice=0,
            domain=job.slices[0].domain,
            nodes=tuple(name for name in job.slices[0].nodes if name),
            to=SliceAssignment(domain=other.slices[0].domain, nodes=tuple(name for name in other.slices[0].nodes if name), gpus=()),
            cost=0,
            lost=0,
        )
        for job, other in (jobs, reversed(jobs))
    )
    _, _, _, plan = crowd()
    assert any("is held by" in problem for problem in check(world.state, replace(plan, moves=moves)))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"restartable": False}, "cannot be restarted"),
        ({"kind": JobKind.INTERACTIVE}, "is interactive"),
        ({"priority": 9}, "has a higher priority"),
        ({"exclusive": True}, "may not move to"),
    ],
)
def test_work_that_stays_is_not_moved(fields: dict[str, Any], told: str) -> None:
    world, victim, name, plan = crowd()
    other, theirs, _ = fleet(**fields)
    assert (theirs, other.job(theirs).slices[0].nodes) == (victim, world.job(victim).slices[0].nodes)
    assert any(told in problem for problem in check(other.state, replace(plan, job=name)))


def test_a_slice_keeps_to_the_level_of_its_job() -> None:
    world = World(racks(4, nodes=6, per_block=2), POLICY)
    job = world.run(ask(12, level="block", mode=LevelMode.REQUIRED))
    waiting = world.submit(ask(24))
    part = job.slices[0]
    moved = PlanMove(
        job=job.id,
        generation=job.generation,
        slice=0,
        domain=part.domain,
        nodes=tuple(name for name in part.nodes if name),
        to=SliceAssignment(domain="r4", nodes=tuple(f"r4-n{number}" for number in range(1, 7)), gpus=()),
        cost=0,
        lost=0,
    )
    _, _, _, plan = crowd()
    problems = check(world.state, replace(plan, job=waiting, moves=(moved,)))
    assert f"slice 0 of {job.id} leaves the level that it must keep to" in problems


def test_budgets_and_exemptions_hold() -> None:
    world, victim, _, plan = crowd(team="red")
    assert check(world.state, plan, Terms(exempt=frozenset({"blue"}), cooling=frozenset({"j1"}), most_moves=1)) == []
    for terms in (Terms(exempt=frozenset({"red"})), Terms(cooling=frozenset({victim})), Terms(victims=frozenset())):
        assert check(world.state, plan, terms) == [f"step 0: {victim} is to be left alone"]
    assert check(world.state, plan, Terms(most_moves=0)) == ["it disturbs 1 workloads; 0 are allowed"]


def test_a_node_that_fails_or_is_promised_makes_the_plan_stale() -> None:
    world, _, name, plan = crowd()
    assert plan.moves[0].to is not None
    taken = plan.moves[0].to.nodes[0]
    world.add(SpaceReserved(job=name, nodes=(taken,), starts_at=world.now, expires_at=None, reason="test"))
    assert check(world.state, plan) == []  # for the job itself
    world.mark(taken, NodeVerb.FAIL)
    assert check(world.state, plan) == [f"step 0: {taken} cannot be used"]


def test_prices_are_those_of_when_the_plan_was_made() -> None:
    world, _, _, plan = crowd()
    assert "is priced" in check(world.state, replace(plan, at=plan.at + MINUTE))[0]
    world.submit(ask(1, held=True))
    assert check(world.state, replace(plan, at=plan.at + MINUTE)) == []  # a later state: what was true then cannot be told any more
