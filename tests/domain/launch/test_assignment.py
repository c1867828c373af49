"""Which nodes a job has, and had."""

from __future__ import annotations

import pytest

from clusters.domain.commands import NodeVerb
from clusters.domain.decision import Refusal
from clusters.domain.errors import UnknownSubject
from clusters.domain.events import Event
from clusters.domain.ids import job_id
from scheduling.launch.assignment import Launch, launch_before, launch_now
from tests.support.world import World, ask, racks


def about(world: World, job: str) -> list[Event]:
    """The events of a job; its submission is the one that it has its id from."""
    return [event for event in world.log.events if job in (event.subject, job_id(event.seq))]


def nodes(launch: Launch | Refusal) -> list[str | None]:
    assert isinstance(launch, Launch)
    return [slot.node for part in launch.slices for slot in part.slots]


def before(world: World, job: str, generation: int | None = None) -> Launch | Refusal:
    return launch_before(world.state, job, about(world, job), generation)


def test_every_generation_can_be_read_again() -> None:
    """Swaps until the spares are gone, then a move: what was then is what the events say now."""
    world = World(racks(3))
    job = world.run(ask(32))
    seen = {1: nodes(launch_now(world.state, job))}
    for _ in range(3):
        failed = job.slices[0].nodes[4]
        assert failed is not None
        world.mark(failed, NodeVerb.FAIL)
        world.settle()
        seen[job.generation] = nodes(launch_now(world.state, job))
    assert (job.swaps, job.moves, len(seen)) == (2, 1, 4)
    for generation, held in seen.items():
        assert nodes(before(world, job.id, generation)) == held
    world.finish(job.id)
    assert nodes(before(world, job.id)) == seen[max(seen)]
    with pytest.raises(UnknownSubject, match="no generation 9"):
        before(world, job.id, 9)


def test_a_job_that_waits_has_no_nodes() -> None:
    world = World(racks(1))
    world.run(ask(16))
    waiting = world.run(ask(16))
    found = launch_now(world.state, waiting)
    assert isinstance(found, Refusal)
    assert (found.code, found.message) == ("state", f"job {waiting.id} is waiting and has no nodes")
    never = before(world, waiting.id)
    assert isinstance(never, Refusal)
    assert "never had nodes" in never.message
    with pytest.raises(UnknownSubject):
        before(world, "j000000")


def test_a_lost_slot_keeps_its_ranks_and_has_no_node() -> None:
    world = World(racks(1))
    job = world.run(ask(16))
    for _ in range(3):
        failed = job.slices[0].nodes[2]
        assert failed is not None
        world.mark(failed, NodeVerb.FAIL)
        world.settle()
    launch = launch_now(world.state, job)
    assert isinstance(launch, Launch)
    assert launch.lost == 1
    assert [rank.node for rank in launch.ranks.ranks].count(None) == 4
    assert len(launch.ranks.ranks) == 64


def test_work_below_a_node_has_ranks_on_its_gpus_alone() -> None:
    world = World(racks(1))
    world.run(ask(gpus=1))
    launch = launch_now(world.state, world.run(ask(gpus=2)))
    assert isinstance(launch, Launch)
    assert launch.shared
    assert [rank.gpu for rank in launch.ranks.ranks] == [1, 2]
    whole = launch_now(world.state, world.run(ask(gpus=4)))
    assert isinstance(whole, Launch)
    assert not whole.shared
