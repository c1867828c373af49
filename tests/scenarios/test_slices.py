"""S3 and S4: slices are whole and even, and what is asserted is the final placement itself."""

from __future__ import annotations

import pytest

from clusters.domain.commands import NodeVerb
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


@pytest.mark.parametrize(
    ("nodes", "sizes"),
    [(128, [16] * 8), (32, [16, 16]), (24, [12, 12]), (48, [16, 16, 16]), (17, [9, 8]), (100, [15, 15, 14, 14, 14, 14, 14])],
)
def test_s4_even_slices_on_nine_free_racks(nodes: int, sizes: list[int]) -> None:
    world = World(racks(9))
    job = world.run(ask(nodes))
    assert _sizes(world, job.id) == sizes
