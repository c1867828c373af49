"""Where requests go in a tree, and why they do not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from clusters.domain.constraints import Layer, LevelMode
from scheduling.domain.trees import Allocation, Ask, LayerFit, TreeCode, TreeRefusal, build_tree, place_tree

LEVELS = ("block", "rack")
REQUIRED, PREFERRED, ANY = LevelMode.REQUIRED, LevelMode.PREFERRED, LevelMode.ANY


def find(room: Mapping[str, int], ask: Ask) -> dict[str, int] | TreeRefusal:
    """Place a request in racks that are named "block/rack"."""
    tree = build_tree(LEVELS, {tuple(name.split("/")): workers for name, workers in room.items()})
    found = place_tree(tree, ask)
    return {"/".join(tree.leaves[leaf]): n for leaf, n in found.counts} if isinstance(found, Allocation) else found


def slices(count: int, size: int, mode: LevelMode = ANY, level: str = "") -> Ask:
    return Ask(count=count, mode=mode, level=level, layers=(Layer(level="rack", size=size),))


PLACED: dict[str, tuple[dict[str, int], Ask, dict[str, int]]] = {
    "a small job goes to the most broken rack that holds it": (
        {"b1/r1": 18, "b1/r2": 5, "b1/r3": 3, "b2/r4": 4},
        Ask(count=4),
        {"b2/r4": 4},
    ),
    "of equal racks it takes one in the most broken block": ({"b1/r1": 4, "b1/r2": 18, "b2/r3": 4, "b2/r4": 9}, Ask(count=4), {"b2/r3": 4}),
    "of equal blocks and racks it takes the first by name, r2 before r10": (
        {"b1/r10": 4, "b1/r2": 4, "b10/r1": 4, "b10/r3": 4},
        Ask(count=4),
        {"b1/r2": 4},
    ),
    "a job over racks takes the fewest": ({"b1/r1": 6, "b1/r2": 8, "b1/r3": 8, "b1/r4": 2}, Ask(count=16), {"b1/r2": 8, "b1/r3": 8}),
    "the last rack is the one that is left least of": (
        {"b1/r1": 18, "b1/r2": 18, "b1/r3": 3, "b1/r4": 7},
        Ask(count=21),
        {"b1/r1": 18, "b1/r3": 3},
    ),
    "a block that needs fewer racks goes before a tighter one": (
        {"b1/r1": 6, "b1/r2": 6, "b1/r3": 6, "b2/r4": 9, "b2/r5": 9, "b2/r6": 9},
        Ask(count=18),
        {"b2/r4": 9, "b2/r5": 9},
    ),
    "a preferred job stays in one block where one holds it": (
        {"b1/r1": 9, "b2/r2": 5, "b2/r3": 5},
        Ask(count=10, mode=PREFERRED, level="block"),
        {"b2/r2": 5, "b2/r3": 5},
    ),
    "and else takes as few blocks as hold it": (
        {"b1/r1": 4, "b2/r2": 5, "b2/r3": 5, "b3/r4": 3},
        Ask(count=13, mode=PREFERRED, level="rack"),
        {"b2/r2": 5, "b2/r3": 5, "b3/r4": 3},
    ),
    "a required job takes the one group that holds it": (
        {"b1/r1": 9, "b2/r2": 9, "b2/r3": 4},
        Ask(count=12, mode=REQUIRED, level="block"),
        {"b2/r2": 9, "b2/r3": 3},
    ),
    "slices stay whole": ({"b1/r1": 15, "b1/r2": 18, "b1/r3": 17, "b1/r4": 31}, slices(32, 16), {"b1/r2": 16, "b1/r3": 16}),
    "two slices share a rack that holds both": ({"b1/r1": 9, "b1/r2": 18, "b1/r3": 9}, slices(16, 8), {"b1/r2": 16}),
    "slices of a block's layer stay whole in it": (
        {**{f"b1/r{n}": 18 for n in range(1, 6)}, **{f"b2/r{n}": 18 for n in range(6, 10)}, **{f"b3/r{n}": 18 for n in range(10, 13)}},
        Ask(count=96, layers=(Layer(level="block", size=48), Layer(level="rack", size=16))),
        {"b2/r6": 16, "b2/r7": 16, "b2/r8": 16, "b3/r10": 16, "b3/r11": 16, "b3/r12": 16},
    ),
    "a tail takes what whole slices leave": (
        {"b1/r1": 18, "b1/r2": 18, "b1/r3": 18},
        Ask(count=34, layers=(Layer(level="rack", size=16),), tail=True),
        {"b1/r1": 18, "b1/r2": 16},
    ),
    "or a rack of its own": (
        {"b1/r1": 16, "b1/r2": 17, "b1/r3": 9},
        Ask(count=36, layers=(Layer(level="rack", size=16),), tail=True),
        {"b1/r1": 16, "b1/r2": 16, "b1/r3": 4},
    ),
    "a job smaller than a slice may be its own tail": (
        {"b1/r1": 3, "b1/r2": 7, "b1/r3": 18},
        Ask(count=5, layers=(Layer(level="rack", size=16),), tail=True),
        {"b1/r2": 5},
    ),
}


@pytest.mark.parametrize(("room", "ask", "expected"), PLACED.values(), ids=PLACED.keys())
def test_where_it_goes(room: dict[str, int], ask: Ask, expected: dict[str, int]) -> None:
    assert find(room, ask) == expected


REFUSED: dict[str, tuple[dict[str, int], Ask, TreeRefusal]] = {
    "no rack holds it": (
        {"b1/r1": 12, "b1/r2": 10, "b2/r3": 12},
        Ask(count=16, mode=REQUIRED, level="rack"),
        TreeRefusal(code=TreeCode.INSUFFICIENT, level="rack", fit=12, of=16, best=("b1", "r1"), free=34),
    ),
    "no block holds enough slices": (
        {"b1/r1": 16, "b1/r2": 15, "b2/r3": 16, "b2/r4": 17},
        slices(48, 16, REQUIRED, "block"),
        TreeRefusal(code=TreeCode.INSUFFICIENT, level="block", unit=16, fit=2, of=3, best=("b2",), free=64),
    ),
    "too few slices anywhere": (
        {"b1/r1": 15, "b2/r2": 16},
        slices(32, 16),
        TreeRefusal(code=TreeCode.INSUFFICIENT, unit=16, fit=1, of=2, free=31),
    ),
    "each layer is counted by itself": (
        {"b1/r1": 8, "b1/r2": 7, "b1/r3": 4, "b2/r4": 8},
        Ask(count=32, layers=(Layer(level="block", size=16), Layer(level="rack", size=4))),
        TreeRefusal(
            code=TreeCode.INSUFFICIENT,
            unit=16,
            fit=1,
            of=2,
            free=27,
            layers=(LayerFit(level="block", fit=1, of=2), LayerFit(level="rack", fit=6, of=8)),
        ),
    ),
    "a tail that was not asked for": (
        {"b1/r1": 18, "b1/r2": 18},
        slices(34, 16),
        TreeRefusal(code=TreeCode.NOT_WHOLE, level="rack", unit=16, fit=2, of=3),
    ),
    "a tail that has no room": (
        {"b1/r1": 17, "b1/r2": 17},
        Ask(count=34, layers=(Layer(level="rack", size=16),), tail=True),
        TreeRefusal(code=TreeCode.INSUFFICIENT, unit=16, fit=2, of=3, free=34),
    ),
    "a level that is not there": (
        {"b1/r1": 18},
        Ask(count=1, mode=PREFERRED, level="zone"),
        TreeRefusal(code=TreeCode.UNKNOWN_LEVEL, level="zone"),
    ),
    "a layer that is not there": (
        {"b1/r1": 18},
        Ask(count=2, layers=(Layer(level="zone", size=2),)),
        TreeRefusal(code=TreeCode.UNKNOWN_LAYER, level="zone"),
    ),
    "layers that do not divide each other": (
        {"b1/r1": 18},
        Ask(count=6, layers=(Layer(level="block", size=6), Layer(level="rack", size=4))),
        TreeRefusal(code=TreeCode.NOT_NESTED, level="block"),
    ),
    "layers in the wrong order": (
        {"b1/r1": 18},
        Ask(count=6, layers=(Layer(level="rack", size=6), Layer(level="block", size=2))),
        TreeRefusal(code=TreeCode.NOT_NESTED, level="rack"),
    ),
    "nothing there at all": ({}, Ask(count=1, mode=REQUIRED, level="rack"), TreeRefusal(code=TreeCode.NO_GROUPS, level="rack", of=1)),
}


@pytest.mark.parametrize(("room", "ask", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_why_it_does_not(room: dict[str, int], ask: Ask, expected: TreeRefusal) -> None:
    assert find(room, ask) == expected


def test_workers_below_a_node_share_the_node_that_is_left_least_of() -> None:
    tree = build_tree(("rack", "host"), {("r1", "n1"): 4, ("r1", "n2"): 2, ("r2", "n1"): 3, ("r2", "n2"): 4})
    assert place_tree(tree, Ask(count=2)) == Allocation(counts=((1, 2),))
    assert place_tree(tree, Ask(count=7, mode=REQUIRED, level="rack")) == Allocation(counts=((2, 3), (3, 4)))
    assert place_tree(tree, Ask(count=8, layers=(Layer(level="host", size=2),))) == Allocation(counts=((0, 4), (3, 4)))
