"""Levels nest, ranges are contiguous, sizes come from the inventory."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.topology import Site, build_topology, natural_key


def _sites(spec: Sequence[tuple[str, str | None, int, int]]) -> list[Site]:
    """(rack, domain, nodes, gpus) each."""
    return [
        Site(name=f"{rack}-{domain}-n{number}", block="b1", rack=rack, domain=domain, gpus=gpus)
        for rack, domain, nodes, gpus in spec
        for number in range(1, nodes + 1)
    ]


SHAPES = {
    "single nodes of 8 GPUs": ([(f"h{n}", f"h{n}", 1, 8) for n in range(1, 12)], ("block", "rack", "domain", "node"), 1),
    "racks of 9": ([("r1", "d1", 9, 4), ("r2", "d2", 9, 4)], ("block", "rack", "domain", "node"), 9),
    "racks of 18": ([("r1", "d1", 18, 4), ("r2", "d2", 18, 4)], ("block", "rack", "domain", "node"), 18),
    "a domain of 72 over four racks": ([(f"r{n}", "d1", 18, 4) for n in range(4)], ("block", "domain", "rack", "node"), 72),
    "two domains in a rack": ([("r1", "d1", 9, 4), ("r1", "d2", 9, 4)], ("block", "rack", "domain", "node"), 9),
    "a domain over two racks": ([("r1", "d1", 9, 4), ("r2", "d1", 9, 4), ("r3", "d2", 18, 4)], ("block", "domain", "rack", "node"), 18),
    "both at once": ([("r1", "d1", 9, 4), ("r2", "d1", 9, 4), ("r2", "d2", 9, 4)], ("block", "domain", "node"), 18),
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_has_its_levels_and_contiguous_domains(name: str) -> None:
    spec, levels, usual = SHAPES[name]
    topology = build_topology(_sites(spec))
    assert topology.levels == levels
    assert topology.usual_size == usual
    for level in levels[:-1]:
        covered = [index for group in topology.groups[level] for index in range(group.first, group.first + group.size)]
        assert covered == list(range(len(topology.nodes)))
    for index, site in enumerate(topology.nodes):
        assert topology.domains[topology.domain_of[index]].name == site.domain
        assert topology.index[site.name] == index


@given(st.integers(), st.sampled_from(sorted(SHAPES)))
def test_the_order_of_the_input_does_not_matter(seed: int, name: str) -> None:
    sites = _sites(SHAPES[name][0])
    shuffled = sites.copy()
    random.Random(seed).shuffle(shuffled)
    assert build_topology(shuffled) == build_topology(sites)


def test_a_node_without_a_domain_stands_alone_and_is_not_known() -> None:
    topology = build_topology(_sites([("r1", "d1", 2, 4), ("r1", None, 2, 4)]))
    assert [(group.name, group.size) for group in topology.domains] == [("d1", 2), ("", 1), ("", 1)]
    assert topology.known == (True, False, False)
    assert topology.domain_index == {"d1": 0}


def test_names_sort_by_their_numbers() -> None:
    assert sorted(["r10", "r2", "r1", "a", "r2b", "02"], key=natural_key) == ["02", "a", "r1", "r2", "r2b", "r10"]


def test_an_empty_cluster_has_a_topology() -> None:
    topology = build_topology([])
    assert (topology.nodes, topology.domains, topology.usual_size, topology.usual_gpus) == ((), (), 0, 0)
