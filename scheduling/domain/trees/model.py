"""Trees of levels, what is asked of them, and the two answers: an allocation or a refusal.

A tree's depth 0 is the whole; depth d is `levels[d - 1]`; the last depth is the leaves. The groups of each depth are numbered in natural
order of their paths, so that the children of a group are a range of numbers. A group is its whole path: rack r1 of block b1 is not rack
r1 of b2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate, groupby, pairwise

from clusters.domain.constraints import Layer, LevelMode
from clusters.domain.topology import natural_key

Path = tuple[str, ...]
Spot = tuple[int, int]  # a group: its depth, its number

WHOLE: Spot = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Leaves below nested groups, and how many workers of one request fit on each leaf. Build it with `build_tree`."""

    levels: tuple[str, ...]  # outermost first; the last is the leaves' own
    leaves: tuple[Path, ...]  # whole paths in natural order, one name for each level
    children: tuple[tuple[int, ...], ...]  # [depth][group]: its first child's number; one more entry ends the last group
    parents: tuple[tuple[int, ...], ...]  # [depth][group]: number of the group around it one level up; depth 0 has none
    room: tuple[int, ...]  # workers that fit on each leaf

    @property
    def depth(self) -> int:
        """Depth of the leaves; the whole tree is depth 0."""
        return len(self.levels)

    def depth_of(self, level: str) -> int | None:
        """Depth of the groups of `level`; None where the tree has no such level."""
        return self.levels.index(level) + 1 if level in self.levels else None

    def inside(self, depth: int, group: int, deeper: int) -> range:
        """Numbers of the groups of depth `deeper` in a group."""
        first, end = group, group + 1
        for offsets in self.children[depth:deeper]:
            first, end = offsets[first], offsets[end]
        return range(first, end)

    def around(self, depth: int, group: int, outer: int) -> int:
        """Number of the group of depth `outer` that a group lies in."""
        for parents in self.parents[depth:outer:-1]:
            group = parents[group]
        return group

    def path(self, depth: int, group: int) -> Path:
        """Names from the outermost level down to a group; empty for the whole tree."""
        leaves = self.inside(depth, group, self.depth)
        return self.leaves[leaves.start][:depth] if leaves else ()

    def without(self, counts: Mapping[int, int]) -> Tree:
        """The tree that is left where workers by leaf have taken their room."""
        return self.with_room(workers - counts.get(leaf, 0) for leaf, workers in enumerate(self.room))

    def with_room(self, room: Iterable[int]) -> Tree:
        """The same tree where other numbers of workers fit, given in the order of `leaves`."""
        given = tuple(room)
        if len(given) != len(self.leaves):
            raise ValueError(f"room: {len(given)} numbers are not valid; give one for each of {len(self.leaves)} leaves")
        return replace(self, room=given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """How many workers, and how they must lie together."""

    count: int  # workers, at least 1
    mode: LevelMode = LevelMode.ANY
    level: str = ""  # what `mode` speaks of
    layers: tuple[Layer, ...] = ()  # outermost first; each size is a multiple of the next
    tail: bool = False  # a count that is no multiple of the outermost layer ends in a smaller slice, instead of being refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """Where the workers go."""

    counts: tuple[tuple[int, int], ...]  # (leaf number, workers > 0) in the order of leaves


class TreeCode(StrEnum):
    """Why a request has no place."""

    INSUFFICIENT = "insufficient"  # too little room, or too little of it together
    NO_GROUPS = "no-domains-at-level"  # the tree has no leaves at all
    NO_REPLACEMENT = "no-replacement"  # lost workers do not make whole slices together with those that stay
    UNKNOWN_LEVEL = "unknown-level"
    UNKNOWN_LAYER = "unknown-slice-level"
    NOT_WHOLE = "count-not-multiple-of-slice"
    NOT_NESTED = "layers-do-not-nest"  # layers repeat a level, are out of order, or do not divide each other


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerFit:
    """How many whole slices of one layer the best group holds, and how many are needed."""

    level: str
    fit: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRefusal:
    """Why a request has no place now, with counts."""

    code: TreeCode
    level: str = ""  # level that holds the request together, or the one that is not known
    unit: int = 1  # workers of one outermost slice; 1 without layers
    fit: int = 0  # units that the best group holds
    of: int = 0  # units needed
    best: Path = ()  # the group that holds most; empty for the whole tree
    free: int = 0  # workers that fit anywhere, layers aside
    layers: tuple[LayerFit, ...] = ()  # outermost first, where there are several


def build_tree(levels: Sequence[str], room: Mapping[Path, int]) -> Tree:
    """Number the groups of a tree given by its leaves' paths; the order of the input does not matter.

    Raises ValueError for a path that has not one name for each level, a level named twice, or room below 0.
    """
    if len(set(levels)) < len(levels) or not levels:
        raise ValueError(f"levels: {list(levels)} is not valid; give at least one, each once")
    for path, workers in room.items():
        if len(path) != len(levels):
            raise ValueError(f"path: {path} is not valid; give one name for each of {list(levels)}")
        if workers < 0:
            raise ValueError(f"room: {workers} on {path} is not valid; give a whole number from 0")
    keys = {name: natural_key(name) for name in {name for path in room for name in path}}
    leaves = tuple(sorted(room, key=lambda path: [keys[name] for name in path]))
    children = _children(leaves, len(levels))
    return Tree(
        levels=tuple(levels),
        leaves=leaves,
        children=children,
        parents=((), *map(_parents, children)),
        room=tuple(room[path] for path in leaves),
    )


def _children(leaves: Sequence[Path], depth: int) -> tuple[tuple[int, ...], ...]:
    """First child of each group of each depth, from the sorted paths."""
    below: Sequence[Path] = leaves
    offsets: list[tuple[int, ...]] = []
    for _ in range(depth):
        runs = [(outer, sum(1 for _ in run)) for outer, run in groupby(below, key=_outer)]
        offsets.append((0, *accumulate(size for _, size in runs)))
        below = [outer for outer, _ in runs]
    return tuple(reversed(offsets)) if leaves else ((0, 0), *offsets[1:])  # the whole tree is a group also where it is empty


def _outer(path: Path) -> Path:
    return path[:-1]


def _parents(offsets: Sequence[int]) -> tuple[int, ...]:
    """The group around each child, from the groups' first children."""
    return tuple(group for group, (first, end) in enumerate(pairwise(offsets)) for _ in range(first, end))


def layer_sizes(tree: Tree, ask: Ask) -> dict[int, int]:
    """Workers of a whole slice by the depth of its layer."""
    return {depth: layer.size for layer in ask.layers if (depth := tree.depth_of(layer.level)) is not None}


def held_together(tree: Tree, ask: Ask) -> int:
    """Depth of the groups of which one must hold the whole request."""
    return tree.depth_of(ask.level) or 0 if ask.mode is LevelMode.REQUIRED else 0
