"""On a cluster without an engine nothing was ever started, so nothing has to be waited for."""

from __future__ import annotations

from clusters.domain.commands import CancelJob, NodeVerb
from clusters.domain.inventory_events import ClusterCreated
from clusters.domain.jobs import JobState
from clusters.domain.state import NO_ENGINE
from tests.support.world import World, ask, racks


def _without_engine() -> World:
    world = World(racks(2))
    world.add(ClusterCreated(name="test", connector=NO_ENGINE))
    return world


def test_a_cancelled_job_gives_its_nodes_back_at_once() -> None:
    world = _without_engine()
    job = world.submit(ask(16))
    world.run_pass()
    world.do(CancelJob(job=job, by="ada"))
    world.run_pass()
    assert world.state.ended == {job: JobState.CANCELLED}
    assert not any(node.job for node in world.state.nodes.values())


def test_a_moved_slice_leaves_its_old_nodes_at_once() -> None:
    world = _without_engine()
    job = world.submit(ask(16))
    world.run_pass()
    for node in ("r1-n1", "r1-n2", "r1-n3"):
        world.mark(node, NodeVerb.FAIL)
        world.run_pass()
    assert [part.domain for part in world.job(job).slices] == ["r2"]
    assert not any(node.job for node in world.state.nodes.values() if node.domain == "r1")


def test_with_an_engine_the_nodes_stay_taken_until_it_reports() -> None:
    world = World(racks(1))
    job = world.submit(ask(16))
    world.run_pass()
    world.do(CancelJob(job=job, by="ada"))
    world.run_pass()
    assert world.job(job).state is JobState.STOPPING
    assert len(world.job(job).held_nodes) == 16
