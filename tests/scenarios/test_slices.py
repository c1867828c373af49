"""S3 and S4: slices are whole and even, and what is asserted is the final placement itself."""

from __future__ import annotations

import pytest

from clusters.domain.commands import NodeVerb
from clusters.domain.constraints import LevelMode
from tests.support.world import World, ask, racks


def _sizes(world: World, name: str) -> list[int]:
    """Nodes of each slice, counted from the nodes it holds; each slice must lie in one domain, and no two in the same."""
    job = world.job(name)
    domains = [{world.state.nodes[node or ""].domain for node in part.nodes} for part in job.slices]
    assert all(len(found) == 1 for found in domains)
    assert len(set().union(*domains)) == len(job.slices)
    return [len(set(part.nodes)) for part in job.slices]


def test_s3_36_nodes_in_slices_of_12_on_three_racks_of_17_healthy_nodes() -> None:
    world = World(racks(3))
    for rack in (1, 2, 3):
        world.mark(f"r{rack}-n{rack}", verb=NodeVerb.FAIL)
    job = world.run(ask(36, slice_size=12))
    assert _sizes(world, job.id) == [12, 12, 12]
    well = {rack: [f"r{rack}-n{node}" for node in range(1, 19) if node != rack] for rack in (1, 2, 3)}
    assert [part.nodes for part in job.slices] == [well[rack][:12] for rack in (1, 2, 3)]
    assert [part.domain for part in job.slices] == ["r1", "r2", "r3"]


@pytest.mark.parametrize(
    ("nodes", "sizes"),
    [(128, [16] * 8), (32, [16, 16]), (24, [12, 12]), (48, [16, 16, 16]), (17, [9, 8]), (100, [15, 15, 14, 14, 14, 14, 14])],
)
def test_s4_even_slices_on_nine_free_racks(nodes: int, sizes: list[int]) -> None:
    world = World(racks(9))
    job = world.run(ask(nodes))
    assert _sizes(world, job.id) == sizes
    placed = [[f"r{rack}-n{node}" for node in range(1, size + 1)] for rack, size in enumerate(sizes, 1)]
    assert [part.nodes for part in job.slices] == (placed if len(sizes) < 9 else [])


def test_s4_even_slices_beside_other_work() -> None:
    """Of nine racks two are in use, one of them by a job that lets nobody in: seven slices go to the others."""
    world = World(racks(9))
    world.run(ask(5, spares=0))
    second = world.submit(ask(2, spares=0, exclusive=True))
    world.settle()
    assert [part.domain for part in world.job(second).slices] == ["r1"]
    job = world.submit(ask(112))
    world.settle()
    assert [part.domain for part in world.job(job).slices] == [f"r{rack}" for rack in range(2, 9)]
    assert [len(part.nodes) for part in world.job(job).slices] == [16] * 7


@pytest.mark.parametrize(("nodes", "sizes"), [(17, [9, 8]), (18, [9, 9])])
def test_s4_17_and_18_nodes_are_two_slices_unless_one_rack_is_asked_for(nodes: int, sizes: list[int]) -> None:
    world = World(racks(2))
    assert [(part.domain, len(part.nodes)) for part in world.run(ask(nodes)).slices] == [("r1", sizes[0]), ("r2", sizes[1])]
    for fields in ({"slice_size": nodes}, {"level": "rack", "mode": LevelMode.REQUIRED}):
        job = World(racks(2)).run(ask(nodes, **fields))
        assert {part.domain for part in job.slices} == {"r1"}
        assert sum(len(part.nodes) for part in job.slices) == nodes
