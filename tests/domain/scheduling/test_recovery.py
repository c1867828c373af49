"""In-place recovery: spares of the same domain, whole-slice moves, stalls, and what must not happen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from clusters.domain.commands import NodeVerb
from clusters.domain.constraints import LevelMode
from clusters.domain.events import Payload
from clusters.domain.health_events import NodeDraining, NodeFailed, NodeQuarantined, RepairFinished
from clusters.domain.inventory_events import NodeChanged, NodeRemoved
from clusters.domain.job_events import (
    NodeSwapped,
    SliceMoved,
    SliceStalled,
    WorkStarted,
    WorkStopped,
)
from clusters.domain.jobs import JobState
from clusters.domain.policy import Policy
from clusters.domain.setting import Backfill
from clusters.domain.state import Job
from tests.support.world import World, ask, racks


def fail(world: World, *nodes: str) -> None:
    for node in nodes:
        world.mark(node, NodeVerb.FAIL)


def kinds(events: Sequence[Payload]) -> list[str]:
    return [type(event).__name__ for event in events]


def names(rack: int, *numbers: int) -> list[str]:
    return [f"r{rack}-n{number}" for number in numbers]


def test_a_lost_node_is_replaced_by_the_first_spare_of_its_domain_in_its_slot() -> None:
    world = World(racks(2))
    job = world.run(ask(32))
    fail(world, "r1-n5")
    assert world.run_pass() == [
        NodeSwapped(
            job=job.id,
            generation=2,
            slice=0,
            slot=4,
            old="r1-n5",
            new="r1-n17",
            reason="r1-n5 is failed: marked failed by op",
        )
    ]
    assert job.slices[0].nodes[:6] == names(1, 1, 2, 3, 4, 17, 6)
    assert (job.state, job.unstarted) == (JobState.STARTING, {"r1-n17"})
    world.settle()
    assert (job.state, job.swaps, job.lost_slots) == (JobState.RUNNING, 1, ())


def test_nothing_is_replaced_before_its_work_has_stopped() -> None:
    world = World(racks(1))
    job = world.run(ask(16))
    world.add(NodeFailed(node="r1-n1", reason="fan"))
    assert world.run_pass() == []
    world.add(WorkStopped(job=job.id, generation=1, nodes=("r1-n1",)))
    assert kinds(world.run_pass()) == ["NodeSwapped"]


def test_a_report_of_an_old_generation_takes_nothing_back() -> None:
    world = World(racks(1))
    job = world.run(ask(4))
    fail(world, "r1-n1")
    world.settle()
    world.add(WorkStopped(job=job.id, generation=1, nodes=("r1-n5",)), WorkStarted(job=job.id, generation=1, nodes=("r1-n5",)))
    assert job.slices[0].nodes == names(1, 5, 2, 3, 4)
    assert world.run_pass() == []


def test_a_node_whose_work_stopped_for_no_known_reason_is_used_again_only_for_want_of_others() -> None:
    world = World(racks(1, nodes=3), Policy(slice_size=2))
    job = world.run(ask(2))
    news = []
    for node in ("r1-n1", "r1-n3", "r1-n1"):
        world.add(WorkStopped(job=job.id, generation=job.generation, nodes=(node,)))
        (swapped,) = world.settle()
        assert isinstance(swapped, NodeSwapped)
        news.append((swapped.new, swapped.reason))
        if len(news) == 2:
            world.mark("r1-n3", NodeVerb.DRAIN)
    assert news == [
        ("r1-n3", "work on r1-n1 stopped"),
        ("r1-n1", "work on r1-n3 stopped"),
        ("r1-n1", "work on r1-n1 stopped"),
    ]


def test_several_losses_in_one_domain_are_swapped_each_for_itself() -> None:
    world = World(racks(1))
    job = world.run(ask(16))
    fail(world, "r1-n2", "r1-n9")
    events = world.run_pass()
    assert [(event.generation, event.slot, event.new) for event in events if isinstance(event, NodeSwapped)] == [
        (2, 1, "r1-n17"),
        (3, 8, "r1-n18"),
    ]
    assert job.generation == 3


def test_a_stalled_slice_is_told_once_and_again_when_the_code_changes() -> None:
    world = World(racks(2))
    job = world.run(ask(32))
    fail(world, *names(1, 1, 2, 3))
    (stalled,) = world.run_pass()
    assert isinstance(stalled, SliceStalled)
    assert (stalled.slice, stalled.code, stalled.counts["nodes_failed"]) == (0, "capacity-blocked", 3)
    assert (job.state, job.blocked) == (JobState.STALLED, "capacity-blocked")
    assert world.run_pass() == []


def test_a_repaired_node_goes_first_to_a_short_slice_and_not_to_what_waits() -> None:
    world = World(racks(1), Policy(backfill=Backfill.OFF))
    job = world.run(ask(16))
    fail(world, *names(1, 1, 2, 3))
    waiting = world.submit(ask(1, priority=1000))
    assert kinds(world.settle()) == ["SliceStalled", "JobBlocked"]
    world.mark("r1-n2", NodeVerb.REPAIR)
    assert kinds(world.settle()) == ["NodeCheckRequested", "NodeSwapped", "NodeSwapped", "NodeSwapped"]
    assert job.slices[0].nodes[:3] == names(1, 2, 17, 18)
    assert job.state is JobState.RUNNING
    assert world.job(waiting).state is JobState.WAITING


def test_recovery_of_the_more_urgent_job_comes_first() -> None:
    world = World(racks(1))
    usual = world.run(ask(8, spares=1))
    urgent = world.run(ask(8, spares=1, priority=5))
    world.add(NodeDraining(node="r1-n17", reason="work"))
    fail(world, "r1-n1", "r1-n9")
    events = world.run_pass()
    assert isinstance(events[0], NodeSwapped)
    assert events[0].job == urgent.id
    assert usual.state is JobState.STALLED


def test_only_placeable_nodes_replace() -> None:
    world = World(racks(1))
    world.run(ask(16))
    world.add(NodeQuarantined(node="r1-n17", owner="op", reason="flaps", exit_rule="by hand"))
    fail(world, "r1-n1")
    (swapped,) = world.run_pass()
    assert isinstance(swapped, NodeSwapped)
    assert swapped.new == "r1-n18"


def test_a_node_that_was_removed_is_replaced_too() -> None:
    world = World(racks(1))
    world.run(ask(16))
    world.add(NodeRemoved(node="r1-n1", reason="sold"))
    (swapped,) = world.run_pass()
    assert isinstance(swapped, NodeSwapped)
    assert (swapped.old, swapped.new, swapped.reason) == ("r1-n1", "r1-n17", "r1-n1 was removed")


def test_a_job_on_one_node_takes_no_spare_that_its_domain_owes_to_others() -> None:
    world = World(racks(2))
    world.run(ask(15))
    single = world.run(ask(1))
    assert single.slices[0].domain == "r1"
    fail(world, "r1-n16")
    (moved,) = world.run_pass()
    assert isinstance(moved, SliceMoved)
    assert moved.assignment.domain == "r2"


def test_a_job_on_one_node_stays_in_its_domain_where_that_owes_nothing() -> None:
    world = World(racks(2))
    world.run(ask(1))
    fail(world, "r1-n1")
    (swapped,) = world.run_pass()
    assert isinstance(swapped, NodeSwapped)
    assert swapped.new == "r1-n2"


def test_work_below_a_node_moves_inside_its_domain_with_gpus_of_its_own() -> None:
    world = World(racks(2))
    first, second = world.run(ask(gpus=1)), world.run(ask(gpus=2))
    assert second.slices[0].gpus == (1, 2)
    fail(world, "r1-n1")
    events = world.run_pass()
    assert [(event.job, event.assignment.nodes, event.assignment.gpus) for event in events if isinstance(event, SliceMoved)] == [
        (first.id, ("r1-n2",), (0,)),
        (second.id, ("r1-n2",), (1, 2)),
    ]


def test_a_swap_and_a_stall_of_one_job_go_together() -> None:
    world = World(racks(2))
    job = world.run(ask(32))
    fail(world, "r1-n1", *names(2, 1, 2, 3))
    events = world.run_pass()
    assert kinds(events) == ["NodeSwapped", "SliceStalled"]
    assert (job.state, job.generation) == (JobState.STALLED, 2)
    world.add(RepairFinished(node="r2-n1"))
    world.settle()
    assert running(job)


def running(job: Job) -> bool:
    return job.state is JobState.RUNNING and not job.lost_slots


@pytest.mark.parametrize("fields", [{}, {"level": "rack", "mode": LevelMode.REQUIRED}])
def test_a_lost_node_that_is_in_another_domain_by_now_is_not_looked_for_in_the_old_one(fields: dict[str, Any]) -> None:
    """The inventory said so while work was on it, so that it took its new place when the work had gone."""
    for slots in ((3,), (1, 2, 3)):
        world = World(racks(2, nodes=5), Policy(slice_size=3, target_spares=0))
        world.run(ask(5, max_slice=5, slice_size=5))
        job = world.run(ask(3, **fields))
        assert job.slices[0].nodes == names(2, 1, 2, 3)
        world.finish(next(iter(world.state.jobs)))
        for slot in slots:
            world.add(NodeChanged(node=f"r2-n{slot}", rack="r1", domain="r1", gpus=4))
            world.add(WorkStopped(job=job.id, generation=1, nodes=(f"r2-n{slot}",)))
        world.settle()
        assert (job.state, job.lost_slots) == (JobState.RUNNING, ())
        assert len({world.state.nodes[str(name)].rack for name in job.slices[0].nodes}) == 1
