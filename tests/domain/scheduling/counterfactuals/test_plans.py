"""Answers that are in sight already: a plan that makes room for the job, and space that is kept for others for a time."""

from __future__ import annotations

from clusters.domain.commands import ApprovePlan, RejectPlan
from clusters.domain.decision import Decision
from clusters.domain.ids import HOUR, SECOND
from clusters.domain.policy import Policy
from clusters.domain.space_events import SpaceReserved
from scheduling.domain.counterfactuals import Kind
from tests.domain.scheduling.counterfactuals.applying import asked, comes_true
from tests.domain.scheduling.defrag.stories import propose, scattered
from tests.support.world import World, ask, racks


def test_a_plan_for_a_waiting_job_is_named_until_it_is_rejected() -> None:
    world, job = scattered()
    assert Kind.PLAN not in asked(world, job)
    propose(world)
    (known,) = world.state.defrag.values()
    found = asked(world, job)[Kind.PLAN]
    assert found.text == f"it would start if plan {known.id} were approved"
    assert found.cost_gpu_hours == round(sum(move.lost for move in known.plan.moves) / 3_600, 2)
    assert comes_true(world, job, found)
    assert isinstance(world.do(RejectPlan(plan=known.id, by="op")), Decision)
    assert Kind.PLAN not in asked(world, job)


def test_a_plan_that_runs_says_how_far_it_is() -> None:
    world, job = scattered()
    propose(world)
    (known,) = world.state.defrag.values()
    world.do(ApprovePlan(plan=known.id, by="op"))
    world.settle()
    found = asked(world, job)[Kind.PLAN]
    assert found.text == f"it starts when plan {known.id} is done, which runs: 0 of 1 moves"
    assert found.cost_gpu_hours is None
    assert comes_true(world, job, found)


def test_a_plan_whose_work_is_leaving_already_counts_what_it_leaves() -> None:
    world, job = scattered()
    propose(world)
    (known,) = world.state.defrag.values()
    world.do(ApprovePlan(plan=known.id, by="op"))
    world.settle()
    world.now += world.state.policy.defrag_grace_s * SECOND
    world.run_pass()
    assert world.job(known.plan.moves[0].job).leaving
    assert Kind.PLAN in asked(world, job)


def test_space_that_is_kept_for_others_for_a_time() -> None:
    world = World(racks(1), Policy(target_spares=0))
    nodes = tuple(f"r1-n{number}" for number in range(1, 19))
    world.add(SpaceReserved(job="", nodes=nodes, starts_at=0, expires_at=3 * HOUR, reason="whole domains"))
    job = world.submit(ask(16))
    world.settle()
    found = asked(world, job)[Kind.SPACE]
    assert found.text == "it starts in about 3 h, when what is kept as whole domains is anybody's again"
    assert found.at == 3 * HOUR
    assert comes_true(world, job, found)
