"""Where requests go, as sentences. Domains have 18 nodes and the policy cuts slices of 16 unless a case says otherwise."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.decision import Refusal
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.setting import SparesScope
from clusters.domain.slices import cluster_slice
from clusters.domain.space import Space
from scheduling.domain.placement import Placement, place, place_shape
from scheduling.domain.shape import Shape
from scheduling.domain.single import largest_slice
from tests.domain.scheduling.worlds import space_of, want, where
from tests.support.world import ask


class Case(NamedTuple):
    space: Space
    request: JobRequest
    expected: str
    policy: Policy = Policy()


FREE_9 = {f"r{n}": 18 for n in range(1, 10)}
TWO_BLOCKS = {"r1": "b1", "r2": "b1", "r3": "b2", "r4": "b2", "r5": "b2"}

SLICES = {
    "32 nodes are two slices of 16": Case(space_of(FREE_9), ask(32), "r1:16 r2:16"),
    "24 nodes are two slices of 12": Case(space_of(FREE_9), ask(24), "r1:12 r2:12"),
    "48 nodes are three slices of 16": Case(space_of(FREE_9), ask(48), "r1:16 r2:16 r3:16"),
    "128 nodes are eight slices of 16": Case(space_of(FREE_9), ask(128), " ".join(f"r{n}:16" for n in range(1, 9))),
    "500 nodes are 20 slices of 16 and 12 of 15": Case(
        space_of({f"r{n}": 18 for n in range(1, 33)}),
        ask(500),
        " ".join([f"r{n}:16" for n in range(1, 21)] + [f"r{n}:15" for n in range(21, 33)]),
    ),
    "a unit keeps its slices whole multiples": Case(space_of(FREE_9), ask(24, slice_size=8), "r1:16 r2:8"),
    "a unit under a smaller policy is the slice": Case(
        space_of({f"r{n}": 9 for n in range(1, 6)}), ask(32, slice_size=8), "r1:8 r2:8 r3:8 r4:8", Policy(slice_size=8)
    ),
    "a tail may come last": Case(space_of(FREE_9), ask(18, slice_size=8, tail=True), "r1:16 r2:2"),
    "max_slice lowers the size": Case(space_of(FREE_9), ask(16, max_slice=8), "r1:8 r1:8"),
    "slices of a job share a domain that holds both": Case(space_of({"d1": 72}, size=72), ask(32), "d1:16 d1:16", Policy(slice_size=16)),
    "GPUs of a node or more are whole nodes": Case(space_of(FREE_9), ask(gpus=126), "r1:16 r2:16"),
    "all or nothing: a slice too many places none": Case(space_of({"r1": 18, "r2": 15}), ask(32), "topology-blocked"),
    "an empty cluster places nothing": Case(space_of({}), ask(1), "capacity-blocked"),
}

ORDER = {
    "a domain that keeps its spares comes first": Case(space_of({"r1": 16, "r2": 18}), ask(16), "r2:16"),
    "with fewer spares missing comes before less left over": Case(space_of({"r1": 16, "r2": 17}), ask(16), "r2:16"),
    "without its spares rather than wait": Case(space_of({"r1": 15, "r2": 16}), ask(16), "r2:16"),
    "a job that wants no spares takes the tightest domain": Case(space_of({"r1": 18, "r2": 16}), ask(16, spares=0), "r2:16"),
    "least left over": Case(space_of({"r1": 18, "r2": 14, "r3": 17}), ask(12), "r2:12"),
    "the lowest name in natural order": Case(space_of({"r10": 18, "r9": 18}), ask(16), "r9:16"),
    "fewest blocks before least left over": Case(
        space_of({"r1": 18, "r2": 10, "r3": 18, "r4": 18, "r5": 10}, blocks=TWO_BLOCKS), ask(32), "r3:16 r4:16"
    ),
    "spares before fewest blocks": Case(
        space_of({"r1": 18, "r2": 10, "r3": 18, "r4": 17, "r5": 10}, blocks=TWO_BLOCKS), ask(32), "r1:16 r3:16"
    ),
    "fewest domains before least left over": Case(
        space_of({"d1": 32, "d2": 16, "d3": 72}, size=72), ask(64, spares=0), "d3:16 d3:16 d3:16 d3:16", Policy(slice_size=16)
    ),
    "one spare missing everywhere is better than two anywhere": Case(space_of({"r1": 16, "r2": 17, "r3": 17}), ask(32), "r2:16 r3:16"),
    "of equals in one block the fuller domains": Case(space_of({"r1": 18, "r2": 17, "r3": 18}), ask(24, spares=2), "r1:12 r2:12"),
    "min_spares is a condition": Case(space_of({"r1": 16}), ask(16), "capacity-blocked", Policy(min_spares=1)),
    "min_spares lets pass what keeps it": Case(space_of({"r1": 17}), ask(16), "r1:16", Policy(min_spares=1)),
    "work on one node needs no spares": Case(space_of({"r1": 1}), ask(1), "r1:1", Policy(min_spares=1)),
    "domains of one node have none to keep": Case(space_of({"h1": 1, "h2": 1}, size=1, gpus=8), ask(2), "h1:1 h2:1"),
}

SMALL = {
    "one node goes to the most broken domain": Case(space_of({"r1": 18, "r2": 5, "r3": 9}), ask(1), "r2:1"),
    "a few nodes go to the most broken domain that holds them": Case(space_of({"r1": 18, "r2": 5, "r3": 9}), ask(7, spares=0), "r3:7"),
    "owed spares are not for work below a slice": Case(want(space_of({"r1": 2, "r2": 18}), "r1"), ask(1), "r2:1"),
    "what is free beyond the owed spares is": Case(want(space_of({"r1": 3, "r2": 18}), "r1"), ask(1), "r1:1"),
    "a slice may take owed spares rather than wait": Case(want(space_of({"r1": 16}), "r1"), ask(16), "r1:16"),
    "a job's own number of spares counts": Case(want(space_of({"r1": 4, "r2": 18}), "r1", 4), ask(1), "r2:1"),
    "a domain of jobs without spares owes none": Case(want(space_of({"r1": 1, "r2": 18}), "r1", 0), ask(1), "r1:1"),
    "the policy may have every domain owe": Case(space_of({"r1": 2, "r2": 18}), ask(1), "r2:1", Policy(spares_scope=SparesScope.ALL)),
    "only owed spares left is too few free": Case(want(want(space_of({"r1": 2, "r2": 2}), "r1"), "r2"), ask(1), "capacity-blocked"),
    "for a few nodes, too": Case(want(want(space_of({"r1": 4, "r2": 3}), "r1"), "r2"), ask(4), "capacity-blocked"),
    "enough beyond the owed spares, but apart, is topology": Case(
        want(want(space_of({"r1": 5, "r2": 5}), "r1"), "r2"), ask(4), "topology-blocked"
    ),
    "for GPUs of a node, too": Case(want(space_of({"r1": 2}), "r1"), ask(gpus=1), "capacity-blocked"),
    "a small job keeps its own spares where it can": Case(space_of({"r1": 8, "r2": 10, "r3": 18}), ask(8), "r2:8"),
}


@pytest.mark.parametrize("sentence", [*SLICES, *ORDER, *SMALL])
def test_placement(sentence: str) -> None:
    case = (SLICES | ORDER | SMALL)[sentence]
    assert where(case.space, case.request, case.policy) == case.expected


def _nodes(space: Space, request: JobRequest) -> list[str]:
    outcome = place(space, request, Policy())
    assert isinstance(outcome, tuple)
    return [name for part in outcome for name in part.nodes]


def _names(*numbers: int) -> list[str]:
    return [f"r1-n{number}" for number in numbers]


def test_a_slice_takes_the_lowest_free_nodes_in_order() -> None:
    assert _nodes(space_of({"r1": 16}), ask(4)) == _names(3, 4, 5, 6)


def test_healthy_nodes_come_before_degraded_ones_and_both_before_repeat_offenders_of_their_kind() -> None:
    space = space_of({"r1": 6}, size=6)
    space.set_placeable(0, placeable=True, degraded=True)
    space.set_placeable(1, placeable=True, degraded=True)
    space.set_offender(1)
    space.set_offender(2)
    assert _nodes(space, ask(1)) == _names(4)
    assert _nodes(space, ask(4)) == _names(3, 4, 5, 6)
    assert _nodes(space, ask(5)) == _names(1, 3, 4, 5, 6)


def test_of_equal_domains_the_one_with_fewer_flaws_is_taken() -> None:
    space = space_of({"r1": 16, "r2": 16})
    space.set_offender(space.topology.index["r1-n18"])
    assert where(space, ask(16)) == "r2:16"
    space.set_placeable(space.topology.index["r2-n18"], placeable=True, degraded=True)
    assert where(space, ask(16)) == "r1:16"


def test_work_below_a_slice_leaves_the_last_free_nodes_for_spares_even_where_they_are_the_soundest() -> None:
    space = want(space_of({"r1": 3}, size=3), "r1")
    space.set_placeable(0, placeable=True, degraded=True)
    assert _nodes(space, ask(1)) == _names(1)


def test_slices_in_one_domain_have_contiguous_ranks() -> None:
    outcome = place(space_of({"d1": 72}, size=72), ask(20), Policy(slice_size=8))
    assert isinstance(outcome, tuple)
    ranks: Placement = outcome
    assert [name for part in ranks for name in part.nodes] == [f"d1-n{number}" for number in range(1, 21)]
    assert [len(part.nodes) for part in ranks] == [7, 7, 6]


@given(
    free=st.lists(st.integers(0, 18), min_size=1, max_size=4),
    owing=st.integers(0, 3),
    policy=st.builds(Policy, slice_size=st.none() | st.integers(1, 18), target_spares=st.just(3), min_spares=st.integers(0, 3)),
)
def test_the_largest_slice_is_the_largest_that_is_placed(free: list[int], owing: int, policy: Policy) -> None:
    space = space_of({f"r{number}": nodes for number, nodes in enumerate(free, 1)})
    space.add_want(0, owing)
    for domain in range(len(free)):
        here = (1 << domain,)
        sizes = range(2, cluster_slice(space.topology, policy) + 1)
        shapes = [Shape(sizes=(size,), gpus=0, small=False, spares=policy.target_spares, floor=policy.min_spares) for size in sizes]
        fitting = [shape.nodes for shape in shapes if not isinstance(place_shape(space, shape, policy, here), Refusal)]
        assert max(fitting, default=0) == (largest if (largest := largest_slice(space, domain, policy)) > 1 else 0)
        space.closed |= 1 << domain
        assert largest_slice(space, domain, policy) == 0
