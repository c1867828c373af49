"""Which nodes back in service would let a job start."""

from __future__ import annotations

from clusters.domain import health_events as hev
from clusters.domain.commands import NodeVerb, SetRackState
from clusters.domain.policy import Policy
from clusters.domain.racks import RackState
from clusters.domain.setting import Backfill
from scheduling.domain.counterfactuals import Kind
from tests.domain.scheduling.counterfactuals.applying import asked
from tests.domain.scheduling.counterfactuals.test_kinds import answer, fail, full
from tests.support.world import World, ask, racks


def test_one_node_back_in_service() -> None:
    world = World(racks(2))
    full(world, 16)
    fail(world, 2, 1, 2, 3)
    found = answer(world, world.submit(ask(16)), Kind.REPAIR)
    assert found.params == {"nodes": ("r2-n1",)}
    assert found.text == "it would start if node r2-n1 (failed) were back in service"


def test_a_repaired_node_that_waits_for_its_check_comes_before_one_that_is_to_be_repaired() -> None:
    world = World(racks(2))
    full(world, 16)
    fail(world, 2, 1, 2, 3)
    world.checks = False
    world.mark("r2-n3", NodeVerb.REPAIR)
    found = answer(world, world.submit(ask(16)), Kind.REPAIR)
    assert found.text == "it would start if node r2-n3 (waits for its check) were back in service"


def test_a_rack_that_opens_gives_no_node_that_waits_for_its_check() -> None:
    world = World(racks(2))
    full(world, 16)
    fail(world, 2, 1, 2, 3)
    world.checks = False
    world.mark("r2-n1", NodeVerb.REPAIR)
    world.do(SetRackState(rack="r2", state=RackState.OUT, by="ada"))
    assert Kind.OPEN not in asked(world, world.submit(ask(16)))


def test_two_nodes_of_one_domain_are_the_fewest() -> None:
    world = World(racks(2))
    full(world, 16)
    fail(world, 2, 1, 2, 3, 4)
    found = answer(world, world.submit(ask(16)), Kind.REPAIR)
    assert found.params == {"nodes": ("r2-n1", "r2-n2")}
    assert "nodes r2-n1 (failed) and r2-n2 (failed) were" in found.text


def test_two_nodes_of_two_domains() -> None:
    world = World(racks(3))
    fail(world, 1, 5, 6, 7)
    fail(world, 2, 5, 6, 7)
    fail(world, 3, *range(1, 10))
    found = answer(world, world.submit(ask(32)), Kind.REPAIR)
    assert found.params == {"nodes": ("r1-n5", "r2-n5")}


def test_whatever_keeps_a_node_out_may_end() -> None:
    world = World(racks(1))
    world.mark("r1-n4", NodeVerb.DRAIN)
    world.add(
        hev.NodeQuarantined(node="r1-n5", owner="op", reason="flaps", exit_rule="by hand"),
        hev.NodeUnreachable(node="r1-n6", reason="silent"),
        source="agent",
    )
    found = answer(world, world.submit(ask(16)), Kind.REPAIR)
    assert found.params == {"nodes": ("r1-n4",)}
    assert "(draining)" in found.text


def test_a_node_with_work_on_it_gives_nothing_by_coming_back() -> None:
    world = World(racks(1))
    full(world, 4)
    world.mark("r1-n1", NodeVerb.DRAIN)
    job = world.submit(ask(16))
    world.settle()
    assert Kind.REPAIR not in asked(world, job)


def test_where_three_are_needed_nothing_is_said() -> None:
    world = World(racks(1))
    fail(world, 1, 1, 2, 3, 4, 5)
    job = world.submit(ask(16))
    world.settle()
    assert Kind.REPAIR not in asked(world, job)


def test_a_repair_that_another_job_would_take_is_no_answer() -> None:
    """The older job takes the room that the repair makes."""
    world = World(racks(1), Policy(backfill=Backfill.OFF))
    fail(world, 1, 1, 2, 3)
    first, second = world.submit(ask(16)), world.submit(ask(16))
    world.settle()
    assert Kind.REPAIR in asked(world, first)
    assert Kind.REPAIR not in asked(world, second)


def test_a_rack_that_is_closed_opens() -> None:
    world = World(racks(2))
    full(world, 16)
    world.do(SetRackState(rack="r2", state=RackState.DRAINING, until=None, by="op", reason="pump"))
    world.mark("r2-n1", NodeVerb.FAIL)
    found = answer(world, world.submit(ask(16)), Kind.OPEN)
    assert found.params == {"rack": "r2"}
    assert found.text == "it would start if rack r2 (out) were open"
    assert Kind.REPAIR not in asked(world, max(world.state.jobs))
