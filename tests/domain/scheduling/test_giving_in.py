"""What jobs do of which a slice has no place: hold, start anew, or start anew smaller."""

from __future__ import annotations

import pytest

from clusters.domain.commands import NodeVerb
from clusters.domain.constraints import LevelMode
from clusters.domain.dump import dump_state, load_state
from clusters.domain.job_events import AfterStop, JobResized, SliceStalled, StopRequested
from clusters.domain.jobs import JobState, OnStall
from clusters.domain.state import Job
from tests.support.world import World, ask, racks


def stalled(on_stall: OnStall) -> tuple[World, Job]:
    """A job of 2 x 4 nodes in racks of 5, two nodes of which fail: one spare is not enough for its slice."""
    world = World(racks(2, nodes=5))
    job = world.run(ask(8, slice_size=4, spares=0, on_stall=on_stall))
    fail(world, job, 2)
    return world, job


def fail(world: World, job: Job, count: int) -> None:
    """The first nodes of its first slice fail."""
    for node in list(job.slices[0].nodes)[:count]:
        assert node is not None
        world.mark(node, NodeVerb.FAIL)


def test_a_job_that_holds_waits_for_a_place() -> None:
    world, job = stalled(OnStall.HOLD)
    assert any(isinstance(event, SliceStalled) for event in world.settle())
    assert (job.state, len(job.held_nodes)) == (JobState.STALLED, 6)


def test_a_job_that_would_restart_holds_while_it_could_not_start_whole() -> None:
    world, job = stalled(OnStall.RESTART)
    world.settle()
    assert job.state is JobState.STALLED


def test_a_job_that_shrinks_starts_anew_with_fewer_slices() -> None:
    world, job = stalled(OnStall.SHRINK)
    events = world.settle()
    assert not any(isinstance(event, SliceStalled) for event in events)
    assert [event.nodes for event in events if isinstance(event, JobResized)] == [4]
    assert (job.state, job.request.nodes, [len(part.nodes) for part in job.slices]) == (JobState.RUNNING, 4, [4])
    assert world.state.reservations == {}
    assert dump_state(load_state(dump_state(world.state))) == dump_state(world.state)


def test_a_single_slice_shrinks_too() -> None:
    world = World(racks(1, nodes=6))
    job = world.run(ask(5, spares=0, on_stall=OnStall.SHRINK))
    fail(world, job, 2)
    world.settle()
    assert (job.state, job.request.nodes) == (JobState.RUNNING, 4)


@pytest.mark.parametrize("on_stall", [OnStall.RESTART, OnStall.SHRINK])
def test_a_job_starts_anew_whole_where_only_all_of_it_fits(on_stall: OnStall) -> None:
    """It must stay in one block: a slice by itself has no place in the other one, the whole job has."""
    world = World(racks(4, nodes=5, per_block=2))
    job = world.run(ask(8, slice_size=4, spares=0, level="block", mode=LevelMode.REQUIRED, on_stall=on_stall))
    assert [part.domain for part in job.slices] == ["r1", "r2"]
    fail(world, job, 2)
    events = world.settle()
    assert [event.after for event in events if isinstance(event, StopRequested)] == [AfterStop.WAITING]
    assert not any(isinstance(event, JobResized) for event in events)
    assert (job.state, [part.domain for part in job.slices]) == (JobState.RUNNING, ["r3", "r4"])


def test_what_starts_anew_is_not_overtaken_by_what_waits() -> None:
    world, job = stalled(OnStall.SHRINK)
    waiting = world.submit(ask(4, spares=0, priority=100))
    world.settle()
    assert (job.state, world.job(waiting).state) == (JobState.RUNNING, JobState.WAITING)
