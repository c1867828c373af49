"""Racks inside a domain: d1 and d2 span two racks of nine nodes each; slices are of 16."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.commands import NodeVerb
from clusters.domain.constraints import JobPart, Layer, LevelMode
from clusters.domain.decision import Refusal
from clusters.domain.job_events import NodeSwapped, SliceStalled
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from scheduling.domain.feasibility import preview
from scheduling.domain.placement import place
from scheduling.domain.refusals import explain
from tests.support.world import Spec, World, ask

REQUIRED, PREFERRED = LevelMode.REQUIRED, LevelMode.PREFERRED
PAIRS: list[Spec] = [(f"r{n}", "b1", f"d{(n + 1) // 2}", 9, 4) for n in range(1, 5)]


def world_of(*taken: int) -> World:
    """So many nodes of each rack are in use, the first ones."""
    world = World(PAIRS, Policy(target_spares=0), checked=False)
    for rack, count in enumerate(taken):
        for node in range(count):
            world.state.space.take(rack * 9 + node)
    return world


def racks_of(world: World, request: JobRequest) -> list[str]:
    """The rack of each slice; the reason where it is refused."""
    outcome = place(world.state.space, request, world.state.policy)
    if isinstance(outcome, Refusal):
        return [explain(outcome)]
    racks = [{world.state.nodes[name].rack for name in part.nodes} for part in outcome]
    return ["+".join(sorted(each)) for each in racks]


@pytest.mark.parametrize(
    ("taken", "request_", "expected"),
    [
        ((0, 0, 0, 0), ask(9, level="rack", mode=REQUIRED), ["r1"]),
        ((3, 1, 0, 0), ask(7, level="rack", mode=REQUIRED), ["r2"]),
        ((3, 3, 0, 2), ask(7, level="rack", mode=REQUIRED), ["r4"]),
        ((3, 3, 2, 0), ask(8, max_slice=4, level="rack", mode=REQUIRED), ["r4", "r4"]),
        ((3, 3, 3, 3), ask(7, level="rack", mode=REQUIRED), ["needs 1 rack with 7 free; best is r1 with 0; 24 nodes free in 2 domains"]),
        ((3, 3, 3, 3), ask(7, level="rack", mode=PREFERRED), ["r1+r2"]),
        ((0, 0, 0, 0), ask(18, max_slice=9, level="rack", mode=PREFERRED), ["r1", "r2"]),
        ((0, 0, 0, 0), ask(2, level="node", mode=PREFERRED), ["r1"]),
        ((0, 0, 0, 0), ask(8, level="rack"), ["r1"]),
    ],
)
def test_one_rack_of_a_domain(taken: tuple[int, ...], request_: JobRequest, expected: list[str]) -> None:
    assert racks_of(world_of(*taken), replace(request_, spares=0)) == expected


def test_more_than_a_rack_holds_is_refused_at_submission() -> None:
    refusal = preview(world_of().state, ask(10, level="rack", mode=REQUIRED))
    assert isinstance(refusal, Refusal)
    assert explain(refusal) == "nodes: 10 can never be placed here; give at most 9 nodes, or prefer the rack rather than require it"


@pytest.mark.parametrize(
    "request_",
    [
        ask(8, level="rack", mode=REQUIRED, layers=(Layer(level="domain", size=4),)),
        ask(8, parts=(JobPart(name="a", nodes=4, level="rack", mode=REQUIRED), JobPart(name="b", nodes=4))),
        ask(8, parts=(JobPart(name="a", nodes=4), JobPart(name="b", nodes=4)), level="rack", mode=PREFERRED),
    ],
)
def test_layers_and_parts_go_by_whole_domains(request_: JobRequest) -> None:
    refusal = preview(world_of().state, request_)
    assert isinstance(refusal, Refusal)
    assert explain(refusal).endswith("a rack is a part of a domain here; give one of block, domain")


def test_a_failed_node_is_replaced_inside_the_rack_or_the_slice_moves_to_another() -> None:
    world = World(PAIRS, Policy(target_spares=0))
    job = world.run(ask(8, level="rack", mode=REQUIRED))
    world.mark("d1-n1", NodeVerb.FAIL)
    (swapped,) = world.settle()
    assert isinstance(swapped, NodeSwapped)
    assert swapped.new == "d1-n9"
    world.mark("d1-n2", NodeVerb.FAIL)
    world.settle()
    assert (job.moves, {world.state.nodes[name or ""].rack for name in job.slices[0].nodes}) == (1, {"r3"})


def test_slices_in_one_rack_hold_each_other() -> None:
    world = World(PAIRS, Policy(target_spares=0))
    job = world.run(ask(9, max_slice=5, level="rack", mode=REQUIRED))
    world.mark("d1-n1", NodeVerb.FAIL)
    assert [type(event) for event in world.settle()] == [SliceStalled]
    assert [part.domain for part in job.slices] == ["d1", "d1"]


@given(st.tuples(*[st.integers(0, 9)] * 4), st.integers(1, 10), st.integers(0, 2))
def test_a_rack_is_found_exactly_where_one_has_room(taken: tuple[int, ...], nodes: int, floor: int) -> None:
    world = world_of(*taken)
    outcome = place(world.state.space, ask(nodes, level="rack", mode=REQUIRED, spares=0), Policy(target_spares=floor, min_spares=floor))
    keeps = floor if nodes > 1 else 0
    free = [9 - count for count in taken]
    fits = any(free[rack] >= nodes and free[rack] + free[rack ^ 1] - nodes >= keeps for rack in range(4))
    assert isinstance(outcome, Refusal) is not fits
