"""A hot swap: new places for lost workers, while those that stay do not move.

1. A job `required` at a level stays in the group where its survivors are. 2. A slice that lost a part of itself is made whole in its own
group, from the innermost layer outwards. 3. Slices that were lost whole go where the fewest new groups are touched. No step has a choice
of how many workers go to which group, so the swap is found if and only if there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from clusters.domain.constraints import LevelMode
from scheduling.domain.trees.model import WHOLE, Allocation, Ask, Spot, Tree, TreeCode, TreeRefusal, held_together
from scheduling.domain.trees.placing import fill_near, together
from scheduling.domain.trees.refusing import misfit, misread


def replace_tree(tree: Tree, ask: Ask, kept: Mapping[int, int]) -> Allocation | TreeRefusal:
    """Place what `ask.count` has beyond the workers that stay, given by leaf; room does not count what they hold.

    Returns the new workers only. A job with a tail is refused: which of its slices was the short one cannot be told any more.
    """
    refusal = misread(tree, replace(ask, tail=False))
    if refusal is not None:
        return refusal
    spot = _confines(tree, ask, kept)
    if spot is None:
        return TreeRefusal(code=TreeCode.NO_REPLACEMENT, level=ask.level, free=sum(tree.room))
    swap = _Swap(tree, kept)
    for place in range(len(ask.layers) - 1, -1, -1):
        refusal = swap.mend(ask, place, spot)
        if refusal is not None:
            return refusal
    rest = ask.count - sum(swap.held.values())
    if rest < 0:
        return TreeRefusal(code=TreeCode.NO_REPLACEMENT, level=ask.layers[-1].level if ask.layers else "", free=sum(tree.room))
    mode = LevelMode.ANY if kept else ask.mode
    refusal = swap.add(replace(ask, count=rest, mode=mode), spot) if rest else None
    return refusal or Allocation(counts=tuple(sorted(swap.added.items())))


def _confines(tree: Tree, ask: Ask, kept: Mapping[int, int]) -> Spot | None:
    """The group that holds the survivors at the required level; None where they are in several."""
    depth = held_together(tree, ask)
    groups = {tree.around(tree.depth, leaf, depth) for leaf in kept}
    if not groups or not depth:
        return WHOLE
    return (depth, groups.pop()) if len(groups) == 1 else None


class _Swap:
    """A swap that is being put together."""

    def __init__(self, tree: Tree, kept: Mapping[int, int]) -> None:
        self._tree = tree  # what room is left
        self.held = dict(kept)
        self.added: dict[int, int] = {}

    def mend(self, ask: Ask, place: int, spot: Spot) -> TreeRefusal | None:
        """Make each slice of one layer whole in its own group."""
        layer = ask.layers[place]
        depth = self._tree.levels.index(layer.level) + 1
        held: dict[int, int] = {}
        for leaf, workers in self.held.items():
            group = self._tree.around(self._tree.depth, leaf, depth)
            held[group] = held.get(group, 0) + workers
        for group, workers in sorted(held.items()):
            missing = -workers % layer.size
            inside = max(spot, (depth, group))  # the deeper of two groups of which one lies in the other
            refusal = self.add(Ask(count=missing, layers=ask.layers[place + 1 :]), inside) if missing else None
            if refusal is not None:
                return refusal
        return None

    def add(self, ask: Ask, spot: Spot) -> TreeRefusal | None:
        """Add workers inside a group, close to those that are there."""
        counts = fill_near(self._tree, ask, spot, self.held)
        if counts is None:
            return misfit(self._tree, ask, spot)
        self._tree = self._tree.without(counts)
        self.held = together(self.held, counts)
        self.added = together(self.added, counts)
        return None
