"""Where a request goes in a tree.

1. Check the request against the levels. 2. Count what each group holds. 3. Find the deepest level at which one group holds all of it; a
request `required` at a level is refused where only groups above it do. 4. Of those groups take the one that needs fewest groups below
it, then the tightest. 5. Inside it choose as few groups as possible, level by level; a group of a layer gets whole slices, and is then
filled by itself. A tail goes last, where the least new groups are touched.

So `required`, `preferred` and `any` differ in what they refuse, never in where they go: one group of the level where one has room, else
as few as possible at every level, outermost first.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusters.domain.constraints import LevelMode
from scheduling.domain.trees.counting import count
from scheduling.domain.trees.filling import Filling, deepest
from scheduling.domain.trees.model import WHOLE, Allocation, Ask, Spot, Tree, TreeRefusal, held_together, layer_sizes
from scheduling.domain.trees.refusing import misfit, misread


def place_tree(tree: Tree, ask: Ask) -> Allocation | TreeRefusal:
    """Place a request, or say why it has no place."""
    refusal = misread(tree, ask)
    if refusal is not None:
        return refusal
    counts = fill(tree, ask, WHOLE)
    return misfit(tree, ask) if counts is None else Allocation(counts=tuple(sorted(counts.items())))


def together(counts: Mapping[int, int], added: Mapping[int, int]) -> dict[int, int]:
    """Workers by leaf of two layouts in one."""
    return {leaf: counts.get(leaf, 0) + added.get(leaf, 0) for leaf in {**counts, **added}}


def fill(tree: Tree, ask: Ask, spot: Spot) -> dict[int, int] | None:
    """Workers by leaf of a request that makes sense, inside one group; None where it does not fit there."""
    sizes = layer_sizes(tree, ask)
    tail = ask.count % ask.layers[0].size if ask.layers else 0
    holding = count(tree, sizes, tail)
    found = deepest(tree, holding.raw, holding.most, spot, ask.count)
    if found is None or found[0] < held_together(tree, ask):
        return None
    filling = Filling(tree, holding)
    if ask.count > tail:
        filling.settle(found, ask.count - tail)
    return _with_tail(tree, ask, found, filling.counts, tail) if tail else filling.counts


def _with_tail(tree: Tree, ask: Ask, spot: Spot, counts: dict[int, int], tail: int) -> dict[int, int] | None:
    """Add the smaller last slice: a request of its own in what the whole ones leave, close to them."""
    outermost, *inner = ask.layers
    last = Ask(count=tail, mode=LevelMode.REQUIRED, level=outermost.level, layers=tuple(inner), tail=True)
    added = fill_near(tree.without(counts), last, spot, counts)
    return None if added is None else together(counts, added)


def fill_near(tree: Tree, ask: Ask, spot: Spot, used: Mapping[int, int]) -> dict[int, int] | None:
    """Like `fill`, but touching as few groups as possible beside those of the leaves in use: none at the deepest level that allows it."""
    for depth in range(tree.depth, spot[0], -1) if used else ():
        near = _only_near(tree, depth, used)
        counts = fill(near, ask, spot) if sum(near.room) >= ask.count else None
        if counts is not None:
            return counts
    return fill(tree, ask, spot)


def _only_near(tree: Tree, depth: int, used: Mapping[int, int]) -> Tree:
    """The tree with room only in groups of `depth` that hold leaves in use."""
    room = [0] * len(tree.room)
    for group in {tree.around(tree.depth, leaf, depth) for leaf in used}:
        leaves = tree.inside(depth, group, tree.depth)
        room[leaves.start : leaves.stop] = tree.room[leaves.start : leaves.stop]
    return tree.with_room(room)
