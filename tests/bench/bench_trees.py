"""Placing in a tree of blocks, racks and domains, beside a floor of the same run.

The floor sorts the leaves by room and takes from the largest until it has enough: no levels, no slices, no best fit, no reasons. The tree
is numbered once; each placement counts all its groups anew.
"""

from __future__ import annotations

import random
from functools import partial
from itertools import accumulate, takewhile

import pytest

from clusters.domain.constraints import Layer, LevelMode
from scheduling.domain.trees import Ask, Tree, TreeRefusal, build_tree, place_tree, replace_tree
from scheduling.domain.trees.model import Path
from tests.bench.harness import Row, alternating_rates, table

SECONDS = 0.3
SLICE = 16
RACKS_PER_BLOCK = 8
IN_RACKS = (Layer(level="rack", size=SLICE),)
NESTED = (Layer(level="block", size=3 * SLICE), *IN_RACKS)


def floor_with(racks: int) -> Tree:
    """Racks of 18 nodes with anything from none to all of them free; half of them whole."""
    lots = random.Random(racks)
    room: dict[Path, int] = {(f"b{rack // RACKS_PER_BLOCK}", f"r{rack}"): lots.choice([18, 18, 18, 17, 12, 4, 0]) for rack in range(racks)}
    return build_tree(("block", "rack"), room)


def greedy(tree: Tree, count: int) -> int:
    """Racks that a request takes if it takes from the largest on."""
    return 1 + sum(1 for _ in takewhile(lambda held: held < count, accumulate(sorted(tree.room, reverse=True))))


def asks(racks: int) -> dict[str, Ask]:
    return {
        "4 nodes": Ask(count=4, mode=LevelMode.REQUIRED, level="rack"),
        "one slice": Ask(count=SLICE, layers=IN_RACKS),
        "4 slices in a block": Ask(count=4 * SLICE, mode=LevelMode.REQUIRED, level="block", layers=IN_RACKS),
        "slices in a fifth of the racks": Ask(count=racks // 5 * SLICE, layers=IN_RACKS),
        "nested layers, 6 slices": Ask(count=6 * SLICE, layers=NESTED),
        "a slice and a tail": Ask(count=SLICE + 5, layers=IN_RACKS, tail=True),
        "refused with counts": Ask(count=(RACKS_PER_BLOCK + 1) * SLICE, mode=LevelMode.REQUIRED, level="block", layers=IN_RACKS),
    }


def _row(name: str, tree: Tree, ask: Ask) -> Row:
    assert isinstance(place_tree(tree, ask), TreeRefusal) == name.startswith("refused")
    ours, floor = alternating_rates(1, SECONDS, partial(place_tree, tree, ask), partial(greedy, tree, ask.count))
    return _beside(f"{name}, {len(tree.leaves):,} racks", ours, floor)


def _beside(name: str, ours: float, floor: float) -> Row:
    return Row(name, f"{1e6 / ours:,.0f} us", f"{1e6 / floor:,.0f} us sorted", f"{floor / ours:.1f}x")


@pytest.mark.bench
def test_place_in_a_tree() -> None:
    rows: list[Row] = []
    for racks in (128, 1_000, 10_000):
        tree = floor_with(racks)
        rows += [_row(name, tree, ask) for name, ask in asks(racks).items()]
        ask = Ask(count=2 * SLICE, layers=IN_RACKS)
        kept = {tree.room.index(18): SLICE}
        swapped, floor = alternating_rates(1, SECONDS, partial(replace_tree, tree, ask, kept), partial(greedy, tree, SLICE))
        rows.append(_beside(f"swap a slice, {racks:,} racks", swapped, floor))
    table("one request in a tree of blocks and racks (ours, whole placement; floor, racks sorted by room)", rows)
