"""Work below a node: which node, which GPUs, and why not."""

from __future__ import annotations

from clusters.domain.decision import Refusal
from clusters.domain.policy import Policy
from clusters.domain.space import Space
from clusters.domain.topology import Site, build_topology
from scheduling.domain.placement import place
from scheduling.domain.refusals import explain
from tests.domain.scheduling.worlds import space_of, want
from tests.support.world import ask


def _share(space: Space, node: str, gpus: int) -> None:
    space.take_gpus(space.topology.index[node], (1 << gpus) - 1)


def _place(space: Space, gpus: int) -> tuple[str, tuple[int, ...]] | str:
    outcome = place(space, ask(gpus=gpus), Policy())
    return explain(outcome) if isinstance(outcome, Refusal) else (outcome[0].nodes[0], outcome[0].gpus)


def test_the_shared_node_with_the_fewest_free_gpus_that_suffice_comes_first() -> None:
    space = space_of({"r1": 18, "r2": 18})
    _share(space, "r1-n1", 1)
    _share(space, "r2-n1", 2)
    assert _place(space, 2) == ("r2-n1", (2, 3))
    assert _place(space, 3) == ("r1-n1", (1, 2, 3))


def test_without_a_shared_node_the_most_broken_domain_gives_one() -> None:
    assert _place(space_of({"r1": 18, "r2": 4}), 1) == ("r2-n15", (0,))


def test_an_owed_spare_is_never_broken() -> None:
    space = want(space_of({"r1": 3, "r2": 18}), "r1")
    assert _place(space, 1) == ("r1-n16", (0,))
    _share(space, "r1-n16", 4)
    assert _place(space, 1) == ("r2-n1", (0,))


def test_a_shared_node_that_may_take_no_more_work_is_left_alone() -> None:
    space = space_of({"r1": 2})
    _share(space, "r1-n17", 1)
    space.set_placeable(space.topology.index["r1-n17"], placeable=False)
    assert _place(space, 1) == ("r1-n18", (0,))


def test_a_node_with_too_few_gpus_is_passed_over() -> None:
    sites = [Site(name=name, block="b1", rack=name, domain=name, gpus=gpus) for name, gpus in (("h1", 4), ("h2", 8), ("h3", 8))]
    space = Space(build_topology(sites))
    for index in range(3):
        space.set_placeable(index, placeable=True)
    assert _place(space, 4) == ("h1", (0, 1, 2, 3))
    assert _place(space, 6) == ("h2", (0, 1, 2, 3, 4, 5))


def test_too_few_gpus_is_a_matter_of_capacity_and_scattered_ones_of_topology() -> None:
    space = space_of({"r1": 2})
    _share(space, "r1-n17", 3)
    _share(space, "r1-n18", 2)
    assert _place(space, 3) == "needs 1 node with 3 GPUs free; best is r1-n18 with 2; 3 GPUs free"
    outcome = place(space, ask(gpus=3), Policy())
    assert isinstance(outcome, Refusal)
    assert outcome.code == "topology-blocked"
    _share(space, "r1-n18", 3)
    outcome = place(space, ask(gpus=3), Policy())
    assert isinstance(outcome, Refusal)
    assert outcome.code == "capacity-blocked"
