"""Counting from the leaves up what each group can hold.

Slices of nested layers that divide each other are counted exactly by floors: a group of a layer's level holds as many whole slices of it as
what its children hold in whole inner slices divides into, whichever way they are laid out. The same is true with one smaller slice at the
end (the tail): it takes room that whole slices leave over, or the place of one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scheduling.domain.trees.model import Tree

#: Workers by depth, then by group.
Counts = tuple[list[int], ...]

_NONE = -1  # a group that cannot hold the tail


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What each group of a tree can hold of one request."""

    sizes: Mapping[int, int]  # depth -> workers of a whole slice there
    raw: Counts  # workers, layers aside
    whole: Counts  # workers in whole slices of every layer at or below the group
    most: Counts  # largest number of workers that ends in the request's tail, -1 for none; `whole` where it has none


def count(tree: Tree, sizes: Mapping[int, int], tail: int = 0) -> Holding:
    """Count what each group holds; `tail` is what the request's count leaves over of the outermost layer."""
    raw = _sums(tree, {})
    whole = _sums(tree, sizes) if sizes else raw
    return Holding(sizes=sizes, raw=raw, whole=whole, most=_with_tail(tree, sizes, whole, tail) if tail else whole)


def _sums(tree: Tree, sizes: Mapping[int, int]) -> Counts:
    """Room from the leaves up, cut to whole slices at each layer."""
    counts: list[list[int]] = []
    for depth in range(tree.depth, -1, -1):
        held = [sum(counts[-1][first:end]) for first, end in pairwise(tree.children[depth])] if counts else list(tree.room)
        size = sizes.get(depth)
        counts.append([workers - workers % size for workers in held] if size else held)
    return tuple(reversed(counts))


def _with_tail(tree: Tree, sizes: Mapping[int, int], whole: Counts, tail: int) -> Counts:
    """For each group the largest number that is whole slices and one tail: at each layer `tail` modulo its size."""
    counts: list[list[int]] = []
    for depth in range(tree.depth, -1, -1):
        held = _lifted(tree.children[depth], whole[depth + 1], counts[-1]) if counts else list(tree.room)
        size = sizes.get(depth)
        counts.append([_cut(workers, size, tail % size) for workers in held] if size else held)
    return tuple(reversed(counts))


def _lifted(offsets: Sequence[int], whole: Sequence[int], most: Sequence[int]) -> list[int]:
    """What a group holds where the best of its children takes the tail."""
    return [_best_sum(whole[first:end], most[first:end]) for first, end in pairwise(offsets)]


def _best_sum(whole: Sequence[int], most: Sequence[int]) -> int:
    gains = [with_tail - without for without, with_tail in zip(whole, most, strict=True) if with_tail >= 0]
    return sum(whole) + max(gains) if gains else _NONE


def _cut(workers: int, size: int, tail: int) -> int:
    """The largest number up to `workers` that leaves `tail` over `size`; -1 where there is none."""
    return workers - (workers - tail) % size if workers >= tail else _NONE
