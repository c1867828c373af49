"""Filling groups from the outside in: which one holds an amount alone, and which few share it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scheduling.domain.trees.choosing import Choice, choose, needed
from scheduling.domain.trees.counting import Counts, Holding
from scheduling.domain.trees.model import Spot, Tree


class Filling:
    """Workers by leaf, as whole slices of one request are laid out."""

    def __init__(self, tree: Tree, holding: Holding) -> None:
        self._tree = tree
        self._holding = holding
        self.counts: dict[int, int] = {}

    def settle(self, spot: Spot, amount: int) -> None:
        """Lay out an amount inside a group that holds it: whole slices of every layer below the group."""
        found = deepest(self._tree, self._holding.raw, self._holding.whole, spot, amount)
        depth, group = spot if found is None else found
        if depth == self._tree.depth:
            self.counts[group] = amount
        else:
            self._share(depth + 1, self._children(depth, group), amount)

    def _share(self, depth: int, groups: Sequence[int], amount: int) -> None:
        """Lay out an amount over the fewest of these groups; below a layer each is filled by itself, else their children are pooled."""
        chosen = self._fewest(depth, groups, amount)
        if depth < self._tree.depth and depth not in self._holding.sizes:
            self._share(depth + 1, [child for choice in chosen for child in self._children(depth, choice.group)], amount)
            return
        for choice, taken in _poured(chosen, amount):
            if depth == self._tree.depth:
                self.counts[choice.group] = taken
            else:
                self.settle((depth, choice.group), taken)

    def _fewest(self, depth: int, groups: Sequence[int], amount: int) -> list[Choice]:
        whole, raw = self._holding.whole[depth], self._holding.raw[depth]
        pool = [Choice(cap=whole[group], raw=raw[group], group=group) for group in groups if whole[group]]
        return choose(pool, amount, lambda chosen: self._needed_below(depth, chosen, amount))

    def _needed_below(self, depth: int, chosen: Sequence[Choice], amount: int) -> int:
        """Groups of the next level that a choice needs."""
        if depth == self._tree.depth:
            return 0
        if depth not in self._holding.sizes:
            return needed([cap for choice in chosen for cap in self._caps_below(depth, choice.group)], amount)
        return sum(needed(self._caps_below(depth, choice.group), taken) for choice, taken in _poured(chosen, amount))

    def _caps_below(self, depth: int, group: int) -> list[int]:
        offsets = self._tree.children[depth]
        return self._holding.whole[depth + 1][offsets[group] : offsets[group + 1]]

    def _children(self, depth: int, group: int) -> range:
        offsets = self._tree.children[depth]
        return range(offsets[group], offsets[group + 1])


def _poured(chosen: Sequence[Choice], amount: int) -> Iterator[tuple[Choice, int]]:
    """Each group takes all it can; what is left over stays in the last."""
    for choice in chosen:
        taken = min(choice.cap, amount)
        amount -= taken
        yield choice, taken


def deepest(tree: Tree, raw: Counts, caps: Counts, spot: Spot, amount: int) -> Spot | None:
    """The best group of the deepest level where one group alone, at or below `spot`, holds the amount."""
    level, group = spot
    first, end = group, group + 1
    fits: list[int] = []
    for depth in range(spot[0], tree.depth + 1):
        held = caps[depth]
        found = [group for group in range(first, end) if held[group] >= amount]
        if not found:
            break
        level, fits = depth, found
        if depth < tree.depth:
            first, end = tree.children[depth][first], tree.children[depth][end]
    if not fits:
        return None
    return level, fits[0] if len(fits) == 1 else _tightest(tree, raw, _parts_below(tree, caps, level, fits, amount), level, fits)


def _parts_below(tree: Tree, caps: Counts, depth: int, groups: Sequence[int], amount: int) -> list[int]:
    """For each group, how few of its children hold the amount."""
    if depth == tree.depth:
        return [0] * len(groups)
    offsets, held = tree.children[depth], caps[depth + 1]
    return [needed(held[offsets[group] : offsets[group + 1]], amount) for group in groups]


def _tightest(tree: Tree, raw: Counts, parts: Sequence[int], depth: int, groups: Sequence[int]) -> int:
    """Fewest parts, then least left over in the group and in each one around it from the inside out, then the first."""
    fewest = min(parts)
    best = {group: group for group, count in zip(groups, parts, strict=True) if count == fewest}  # group around -> first inside
    for outer in range(depth, 0, -1):
        held = raw[outer]
        least = min(held[around] for around in best)
        kept = [(around, group) for around, group in best.items() if held[around] == least]
        best = {}
        for around, group in kept:
            best.setdefault(tree.parents[outer][around], group)
    return next(iter(best.values()))
