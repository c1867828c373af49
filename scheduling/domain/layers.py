"""Nested layers: each run of so many nodes, in rank order, in one group of a level; runs inside runs.

All runs of a layer are alike, so what a group can take of them is a number: the sum of what the groups inside it take of the next layer,
divided by how many of those make one run, rounded down. Counted from the domains up, that is exact. What a last, shorter run needs (a tail,
only where one is asked for) has one place on each level, so each group also knows what it can take beside the tail. Nodes are then given
from the top down: to one group where one suffices, the tightest; else to the fullest first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod

from clusters.domain.constraints import LevelMode
from scheduling.domain.nodes import NO_FLAWS
from scheduling.domain.packing import Bin, FlawsOf, Packing, takes
from scheduling.domain.rooms import Rooms
from scheduling.domain.search import search
from scheduling.domain.several import Seats, Spread, bins_of, by_group, score
from scheduling.domain.shape import PartShape

#: What a group takes beside the tail where it cannot hold the tail at all.
_CANNOT = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """How a request with layers is cut."""

    levels: tuple[str, ...]  # outermost first
    ratios: tuple[int, ...]  # runs of the next layer in one of each; the last: 1
    run: tuple[int, ...]  # slices of one innermost run
    runs: int  # outermost runs
    tails: tuple[int, ...]  # runs of the next layer in the shorter run of each; the last: 0
    tail: tuple[int, ...]  # slices of the shorter innermost run; empty for none

    @property
    def hosted(self) -> bool:
        """Whether there is a shorter run on some layer, for which a place must be found on each."""
        return bool(self.tail or any(self.tails))


@dataclass(slots=True, kw_only=True)
class _Group:
    """One group of a level, or all domains together: what it takes, in runs of its layer."""

    inner: list[_Group] = field(default_factory=list)
    bins: Sequence[Bin] = ()  # of a group of the innermost layer
    full: int = 0
    hosting: int = _CANNOT  # beside the tail


def spread_layers(rooms: Rooms, part: PartShape) -> Spread:
    """The domains for slices that lie in nested layers; exact in whether they can be placed, as far as `search` is."""
    if part.mode is LevelMode.ANY:
        return _spread(rooms, part, "")
    found = _spread(rooms, part, part.level)
    return found if found.seats or part.mode is LevelMode.REQUIRED else _spread(rooms, part, "")


def _spread(rooms: Rooms, part: PartShape, level: str) -> Spread:
    """At the least price in spares: in the best group of the level, or anywhere in as few blocks as can be where it is ""."""
    cut = _cut(part)
    least = min(part.sizes)
    most = (0, 1)
    for missing in rooms.prices(least):
        bins = bins_of(rooms, least, missing)
        areas = by_group(rooms, bins, level) if level else [*by_group(rooms, bins, "block"), (-1, bins)]
        found: list[tuple[tuple[int, ...], Seats]] = []
        most = (0, 1)
        for group, members in areas:
            if group < 0 and found:  # one block holds all
                break
            top = _counted(rooms, cut, members)
            if seats := _given(rooms, cut, top):
                found.append((score(rooms, _parts(seats)), seats))
            most = max(most, (_slices(cut, top), -group))
        if found:
            return Spread(min(found)[1], len(part.sizes))
    return Spread((), min(most[0], len(part.sizes) - 1), -most[1])


def _cut(part: PartShape) -> _Cut:
    layers = part.layers
    if layers[0].level != "block":  # its groups lie in one block each: to fill block by block is to use the fewest
        layers = (replace(layers[0], level="block"), *layers)
    inner = layers[-1].size
    run = tuple(_first(part.sizes, inner))
    nodes, rest = part.nodes, part.nodes % layers[0].size
    tails: list[int] = []
    for layer, below in pairwise(layers):
        rest %= layer.size
        tails.append(rest // below.size)
    return _Cut(
        levels=tuple(layer.level for layer in layers),
        ratios=(*(layer.size // below.size for layer, below in pairwise(layers)), 1),
        run=run,
        runs=nodes // layers[0].size,
        tails=(*tails, 0),
        tail=part.sizes[len(run) * (nodes // inner) :],
    )


def _first(sizes: Sequence[int], nodes: int) -> Iterator[int]:
    """The first slices, that make so many nodes."""
    for size in sizes:
        if nodes <= 0:
            return
        nodes -= size
        yield size


# ---- counting, from the domains up


def _counted(rooms: Rooms, cut: _Cut, bins: Sequence[Bin]) -> _Group:
    """All these domains as a tree of groups with what each can take; the top counts outermost runs."""
    top = _Group(inner=[_group(rooms, cut, members, 0) for _, members in by_group(rooms, bins, cut.levels[0])])
    _sum_up(top, 1, 0, hosted=cut.hosted)
    return top


def _group(rooms: Rooms, cut: _Cut, bins: Sequence[Bin], depth: int) -> _Group:
    if depth + 1 == len(cut.levels):
        group = _Group(bins=bins, full=_most(bins, cut.run, ()))
        if cut.hosted:
            group.hosting = _most(bins, cut.run, cut.tail)
        return group
    inner = [_group(rooms, cut, members, depth + 1) for _, members in by_group(rooms, bins, cut.levels[depth + 1])]
    group = _Group(inner=inner)
    _sum_up(group, cut.ratios[depth], cut.tails[depth], hosted=cut.hosted)
    return group


def _sum_up(group: _Group, ratio: int, tails: int, *, hosted: bool) -> None:
    whole = sum(inner.full for inner in group.inner)
    group.full = whole // ratio
    host = _host(group) if hosted else None
    if host is not None and (beside := whole - host.full + host.hosting - tails) >= 0:
        group.hosting = beside // ratio


def _host(group: _Group) -> _Group | None:
    """Of the groups inside, the one that loses least by taking the tail; of equals the tightest, then the first."""
    able = [inner for inner in group.inner if inner.hosting != _CANNOT]
    return min(able, key=lambda inner: (inner.full - inner.hosting, inner.full), default=None)


def _most(bins: Sequence[Bin], run: tuple[int, ...], tail: tuple[int, ...]) -> int:
    """How many runs these domains take beside the tail; `_CANNOT` where they do not even take that."""
    room = sum(bin.cap for bin in bins)
    if len(set(run)) == 1 and not tail:
        return takes(bins, [run[0]] * (room // run[0])) // len(run) if room >= run[0] else 0
    if tail and _packed(bins, tail) is None:
        return _CANNOT
    fits, fails = 0, (room - sum(tail)) // sum(run) + 1
    while fails - fits > 1:
        runs = (fits + fails) // 2
        if _packed(bins, [*run * runs, *tail]) is None:
            fails = runs
        else:
            fits = runs
    return fits


def _packed(bins: Sequence[Bin], sizes: Sequence[int], flaws: FlawsOf = lambda domain, nodes: NO_FLAWS) -> dict[int, list[int]] | None:
    """These slices in these domains: by filling, else by search."""
    ordered = sorted(sizes, reverse=True)
    if takes(bins, ordered) < len(ordered):
        return None
    packing = Packing(bins, flaws)
    return search(bins, ordered) if packing.pour(ordered) else packing.parts


def _slices(cut: _Cut, top: _Group) -> int:
    """Slices of the whole runs that fit."""
    return min(top.full, cut.runs) * prod(cut.ratios) * len(cut.run)


# ---- giving, from the top down


def _given(rooms: Rooms, cut: _Cut, top: _Group) -> Seats:
    """The slices in rank order; none where they do not all fit."""
    if (top.hosting if cut.hosted else top.full) < cut.runs:
        return ()
    return tuple(_give(rooms, cut, top, (-1, cut.runs, cut.hosted)))


def _give(rooms: Rooms, cut: _Cut, group: _Group, task: tuple[int, int, bool]) -> Iterator[tuple[int, int]]:
    """Seats for so many runs at a depth (-1: the top), and for the tail, which comes last."""
    depth, runs, hosted = task
    if not group.inner:
        yield from _seats(rooms, cut, group.bins, runs, hosted=hosted)
        return
    wanted = runs * cut.ratios[depth] + (cut.tails[depth] if hosted else 0) if depth >= 0 else runs
    host = _host(group) if hosted else None
    if host is not None:
        own = min(wanted, host.hosting)
        wanted -= own
    for inner, share in _shares([inner for inner in group.inner if inner is not host], wanted):
        yield from _give(rooms, cut, inner, (depth + 1, share, False))
    if host is not None:
        yield from _give(rooms, cut, host, (depth + 1, own, True))


def _shares(groups: Sequence[_Group], wanted: int) -> Iterator[tuple[_Group, int]]:
    """Who gives how many: the fullest first, and for the last of them the tightest that suffices."""
    rest = sorted(groups, key=lambda group: group.full, reverse=True)
    while wanted:
        enough = [group for group in rest if group.full >= wanted]
        group = min(enough, key=lambda group: group.full) if enough else rest[0]
        rest.remove(group)
        share = min(wanted, group.full)
        wanted -= share
        yield group, share


def _seats(rooms: Rooms, cut: _Cut, bins: Sequence[Bin], runs: int, *, hosted: bool) -> Iterator[tuple[int, int]]:
    """Runs one after the other, the tail last, in the domains of one group of the innermost layer."""
    tail = cut.tail if hosted else ()
    sizes = [*cut.run * runs, *tail]
    parts = _packed(bins, sizes, rooms.flaws) or {}
    homes: dict[int, list[int]] = {}
    for domain in sorted(parts):
        for size in parts[domain]:
            homes.setdefault(size, []).append(domain)
    for size in sizes:
        yield homes[size].pop(0), size


def _parts(seats: Seats) -> dict[int, list[int]]:
    parts: dict[int, list[int]] = {}
    for domain, size in seats:
        parts.setdefault(domain, []).append(size)
    return parts
