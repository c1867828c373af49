"""A slice with too few spares moves whole: where to, what it leaves behind, and when that is free."""

from __future__ import annotations

from clusters.domain.commands import NodeVerb
from clusters.domain.evolve import evolve
from clusters.domain.health_events import NodeDraining
from clusters.domain.inventory_events import RackRegistered
from clusters.domain.job_events import (
    AfterStop,
    SliceMoved,
    StopRequested,
)
from clusters.domain.jobs import JobState
from clusters.domain.policy import Policy
from clusters.domain.setting import Backfill
from tests.domain.clusters.logs import Log
from tests.domain.scheduling.test_recovery import fail, kinds, names, running
from tests.support.world import World, ask, racks


def test_with_too_few_spares_the_slice_moves_whole_and_the_others_hold() -> None:
    world = World(racks(4))
    job = world.run(ask(32))
    held = list(job.slices[1].nodes)
    fail(world, "r1-n1", "r1-n2", "r1-n3")
    moved, stop = world.run_pass()
    assert isinstance(moved, SliceMoved)
    assert (moved.slice, moved.old_domain, moved.assignment.domain) == (0, "r1", "r3")
    assert moved.assignment.nodes == tuple(names(3, *range(1, 17)))
    assert moved.released == tuple(names(1, *range(4, 17)))
    assert moved.lost == tuple(names(1, 1, 2, 3))
    assert isinstance(stop, StopRequested)
    assert (stop.nodes, stop.after) == (moved.released, AfterStop.CONTINUES)
    assert job.slices[1].nodes == held
    assert world.state.nodes["r1-n4"].job == job.id
    world.settle()
    assert (job.state, job.moves) == (JobState.RUNNING, 1)
    assert world.state.nodes["r1-n4"].job == ""


def test_a_slice_that_lost_all_its_nodes_has_none_to_stop() -> None:
    world = World([*racks(1, nodes=2), ("r2", "b1", "r2", 2, 4)], Policy(slice_size=2))
    world.run(ask(2))
    fail(world, "r1-n1", "r1-n2")
    assert kinds(world.run_pass()) == ["SliceMoved"]


def test_a_moved_slice_stays_in_the_block_of_the_others_although_another_domain_leaves_less_over() -> None:
    world = World([*racks(3), ("r4", "b2", "r4", 18, 4)])
    job = world.run(ask(32, spares=0))
    assert [part.domain for part in job.slices] == ["r1", "r2"]
    for node in names(4, 1, 2):
        world.add(NodeDraining(node=node, reason="work"))
    fail(world, *names(2, 1, 2, 3))
    world.settle()
    assert [part.domain for part in job.slices] == ["r1", "r3"]


def test_a_moved_slice_joins_a_domain_of_its_job_that_has_room() -> None:
    world = World([("d1", "b1", "d1", 12, 4), ("d2", "b1", "d2", 72, 4), ("d3", "b1", "d3", 9, 4)], Policy(slice_size=8))
    job = world.run(ask(24, spares=0))
    assert [part.domain for part in job.slices] == ["d2", "d2", "d2"]
    fail(world, *(f"d2-n{number}" for number in range(25, 73)))
    fail(world, "d2-n1")
    world.settle()
    assert [part.domain for part in job.slices] == ["d3", "d2", "d2"]
    for number in (2, 3, 4):
        world.mark(f"d2-n{number}", NodeVerb.DRAIN)
    world.mark("d2-n1", NodeVerb.REPAIR)
    for number in range(25, 30):
        world.mark(f"d2-n{number}", NodeVerb.REPAIR)
    world.settle()
    fail(world, "d3-n1", "d3-n2")
    world.settle()
    assert [part.domain for part in job.slices] == ["d2", "d2", "d2"]


def test_losses_in_moved_slices_are_named_by_their_slot() -> None:
    world = World(racks(3))
    job = world.run(ask(16))
    fail(world, *names(1, 1, 2, 3))
    world.settle()
    fail(world, "r2-n4")
    world.settle()
    assert job.slices[0].nodes[3] == "r2-n17"
    assert running(job)


def test_the_nodes_that_a_moved_slice_left_are_free_once_their_work_has_stopped_and_not_before() -> None:
    world = World(racks(2), Policy(backfill=Backfill.OFF))
    world.run(ask(16))
    fail(world, *names(1, 1, 2, 3))
    name = world.submit(ask(14, spares=0))
    assert kinds(world.run_pass()) == ["SliceMoved", "StopRequested", "JobBlocked"]
    world.settle()
    assert world.job(name).slices[0].domain == "r1"


def test_a_move_that_is_folded_right_after_a_change_of_the_inventory_is_counted_once() -> None:
    """Who only follows the log has built nothing since that change; who decided the move has."""
    world = World(racks(2, nodes=4), Policy(slice_size=3, target_spares=1))
    world.run(ask(3))
    fail(world, "r1-n1", "r1-n2")
    world.add(RackRegistered(rack="r2", block="b1", switch_trays=9))
    world.run_pass()
    moved = next(event for event in world.log.events if isinstance(event.payload, SliceMoved))
    follower = Log()
    for event in world.log.events[: moved.seq]:
        evolve(follower.state, event)
    follower.sound()
