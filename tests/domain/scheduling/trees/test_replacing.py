"""Hot swaps: where lost workers go beside those that stay."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from clusters.domain.constraints import Layer, LevelMode
from scheduling.domain.trees import Allocation, Ask, TreeCode, TreeRefusal, build_tree, replace_tree

LEVELS = ("block", "rack", "host")
REQUIRED, PREFERRED = LevelMode.REQUIRED, LevelMode.PREFERRED


def swap(room: Mapping[str, int], kept: Mapping[str, int], ask: Ask) -> dict[str, int] | TreeRefusal:
    """Replace what is lost, on hosts that are named "block/rack/host"."""
    tree = build_tree(LEVELS, {tuple(name.split("/")): workers for name, workers in room.items()})
    names = ["/".join(path) for path in tree.leaves]
    found = replace_tree(tree, ask, {leaf: kept[name] for leaf, name in enumerate(names) if name in kept})
    return {names[leaf]: workers for leaf, workers in found.counts} if isinstance(found, Allocation) else found


def in_racks(count: int, size: int, mode: LevelMode = PREFERRED) -> Ask:
    return Ask(count=count, mode=mode, level="block", layers=(Layer(level="rack", size=size),))


SWAPS: dict[str, tuple[dict[str, int], dict[str, int], Ask, dict[str, int]]] = {
    "a lost worker joins the survivors on their node": (
        {"b1/r1/x1": 1, "b1/r2/x2": 2},
        {"b1/r1/x1": 1},
        Ask(count=2, mode=PREFERRED, level="rack"),
        {"b1/r1/x1": 1},
    ),
    "or in their rack": (
        {"b1/r1/x1": 0, "b1/r1/x2": 3, "b1/r2/x3": 1},
        {"b1/r1/x1": 1},
        Ask(count=2, mode=PREFERRED, level="rack"),
        {"b1/r1/x2": 1},
    ),
    "or in their block": (
        {"b1/r1/x1": 0, "b1/r2/x2": 3, "b2/r3/x3": 1},
        {"b1/r1/x1": 1},
        Ask(count=2, mode=PREFERRED, level="rack"),
        {"b1/r2/x2": 1},
    ),
    "a preferred job is not confined to it": (
        {"b1/r1/x1": 0, "b2/r3/x3": 1},
        {"b1/r1/x1": 1},
        Ask(count=2, mode=PREFERRED, level="block"),
        {"b2/r3/x3": 1},
    ),
    "a broken slice is mended in its own rack": (
        {"b1/r1/x1": 1, "b1/r2/x4": 1, "b1/r2/x5": 2},
        {"b1/r1/x1": 2, "b1/r2/x4": 1},
        in_racks(4, 2, REQUIRED),
        {"b1/r2/x4": 1},
    ),
    "a slice that was lost whole may go to another block": (
        {"b1/r1/x1": 0, "b1/r2/x2": 1, "b2/r3/x3": 2},
        {"b1/r1/x1": 2},
        in_racks(4, 2),
        {"b2/r3/x3": 2},
    ),
    "with every worker lost it is placed anew": (
        {"b1/r1/x1": 0, "b1/r2/x2": 4, "b2/r3/x3": 8},
        {},
        Ask(count=4, mode=REQUIRED, level="rack"),
        {"b1/r2/x2": 4},
    ),
    "the innermost broken layer is mended first": (
        {"b1/r1/x1": 4, "b1/r1/x2": 1, "b1/r1/x3": 2},
        {"b1/r1/x1": 2, "b1/r1/x2": 1},
        Ask(count=8, layers=(Layer(level="rack", size=8), Layer(level="host", size=2))),
        {"b1/r1/x1": 4, "b1/r1/x2": 1},
    ),
}


@pytest.mark.parametrize(("room", "kept", "ask", "expected"), SWAPS.values(), ids=SWAPS.keys())
def test_where_lost_workers_go(room: dict[str, int], kept: dict[str, int], ask: Ask, expected: dict[str, int]) -> None:
    assert swap(room, kept, ask) == expected


NO_SWAPS: dict[str, tuple[dict[str, int], dict[str, int], Ask, TreeRefusal]] = {
    "a required job stays with its survivors": (
        {"b1/r1/x1": 0, "b1/r2/x2": 1},
        {"b1/r1/x1": 1},
        Ask(count=2, mode=REQUIRED, level="rack"),
        TreeRefusal(code=TreeCode.INSUFFICIENT, level="rack", fit=0, of=1, best=("b1", "r1"), free=1),
    ),
    "a broken slice finds no room in its rack": (
        {"b1/r1/x1": 0, "b1/r2/x2": 9},
        {"b1/r1/x1": 1},
        in_racks(2, 2),
        TreeRefusal(code=TreeCode.INSUFFICIENT, level="rack", fit=0, of=1, best=("b1", "r1"), free=9),
    ),
    "survivors that are in two racks already": (
        {"b1/r1/x1": 5, "b1/r2/x2": 5},
        {"b1/r1/x1": 1, "b1/r2/x2": 1},
        Ask(count=3, mode=REQUIRED, level="rack"),
        TreeRefusal(code=TreeCode.NO_REPLACEMENT, level="rack", free=10),
    ),
    "more broken slices than workers to mend them": (
        {"b1/r1/x1": 5, "b1/r2/x2": 5},
        {"b1/r1/x1": 1, "b1/r2/x2": 2},
        in_racks(4, 4),
        TreeRefusal(code=TreeCode.NO_REPLACEMENT, level="rack", free=10),
    ),
    "a job with a tail": (
        {"b1/r1/x1": 5},
        {"b1/r1/x1": 4},
        Ask(count=5, layers=(Layer(level="rack", size=4),), tail=True),
        TreeRefusal(code=TreeCode.NOT_WHOLE, level="rack", unit=4, fit=1, of=2),
    ),
}


@pytest.mark.parametrize(("room", "kept", "ask", "expected"), NO_SWAPS.values(), ids=NO_SWAPS.keys())
def test_why_there_is_no_swap(room: dict[str, int], kept: dict[str, int], ask: Ask, expected: TreeRefusal) -> None:
    assert swap(room, kept, ask) == expected
