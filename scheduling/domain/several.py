"""Several slices: fewest missing spares, blocks, domains, domains in which a node has failed of late, least left over, fewest flaws, index.

Prices in spares are asked for from the lowest up: first with every domain keeping all its spares, then with one missing in a domain at
most, and so on. At one price, all slices in one block is best; else the block that takes most goes first. With slices of one size, or
domains that hold one slice, that is the fewest blocks there can be; with mixtures it is close, and what can be placed is placed.

A level that is required is a condition: the slices lie in one of its groups. One that is preferred goes before the price in spares: where
one of its groups has room at any price, the slices lie in one; else in as few blocks, and in them in as few of its groups, as can be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from clusters.domain.constraints import LevelMode
from scheduling.domain.exact import fit_exactly
from scheduling.domain.levels import DOMAIN
from scheduling.domain.nodes import bits
from scheduling.domain.packing import Bin, Packing, takes
from scheduling.domain.rooms import Rooms
from scheduling.domain.shape import PartShape
from scheduling.domain.single import EVERYWHERE, best_domain

#: (domain, nodes) of each slice, in rank order.
Seats = tuple[tuple[int, int], ...]

#: Sizes of slices by domain.
Parts = dict[int, list[int]]


class Spread(NamedTuple):
    """Where the slices go; no seats when they do not all fit, and then what was the most that fits."""

    seats: Seats
    fit: int  # slices
    best: int = -1  # group of the required level that takes most
    within: int = -1  # mask of the nodes to choose from, where the level lies inside the only domain


def spread(rooms: Rooms, part: PartShape) -> Spread:
    """The domains for these slices."""
    if part.mode is LevelMode.ANY:
        return _anywhere(rooms, part.sizes, ("block",))
    found = _in_one_domain(rooms, part.sizes) if part.level == DOMAIN else _in_one_group(rooms, part.sizes, part.level)
    if found.seats or part.mode is LevelMode.REQUIRED:
        return found
    return _anywhere(rooms, part.sizes, ("block",) if part.level in ("block", DOMAIN) else ("block", part.level))


def _in_one_domain(rooms: Rooms, sizes: Sequence[int]) -> Spread:
    """Slices side by side in one domain need what one slice of their nodes would."""
    domain = best_domain(rooms, sum(sizes), (EVERYWHERE,))
    if domain is not None:
        return Spread(tuple((domain, size) for size in sizes), len(sizes))
    bins = bins_of(rooms, sizes[-1], rooms.prices(sizes[-1])[-1])
    fullest = max(bins, key=lambda bin: (bin.cap, -bin.domain), default=None)
    return Spread((), 0) if fullest is None else Spread((), takes([fullest], sizes), fullest.domain)


def _in_one_group(rooms: Rooms, sizes: Sequence[int], level: str) -> Spread:
    """All slices in one group of a level above the domain: of those that hold them at the least price the best by the order of choice."""
    fit, best = 0, -1
    for missing in rooms.prices(sizes[-1]):
        groups = by_group(rooms, bins_of(rooms, sizes[-1], missing), level)
        found = [takes(bins, sizes) for _, bins in groups]
        holding = [bins for (_, bins), fits in zip(groups, found, strict=True) if fits >= len(sizes)]
        packed = [parts for bins in holding if (parts := _hold(rooms, bins, sizes)) is not None]
        if packed:
            return Spread(_seats(min(packed, key=lambda parts: score(rooms, parts))), len(sizes))
        most = max(zip(found, (-group for group, _ in groups), strict=True), default=(0, 1))
        fit, best = min(most[0], len(sizes) - 1), -most[1]
    return Spread((), fit, best)


def _hold(rooms: Rooms, bins: Sequence[Bin], sizes: Sequence[int]) -> Parts | None:
    """All slices in these domains, or None."""
    packing, rest = _pack(rooms, bins, sizes)
    return packing.parts if not rest else _exactly(bins, sizes)


def _exactly(bins: Sequence[Bin], sizes: Sequence[int]) -> Parts | None:
    """Where filling has failed: another mixture, which there can only be where domains hold several slices."""
    return fit_exactly(bins, sizes) if any(bin.cap >= 2 * sizes[-1] for bin in bins) else None


def _anywhere(rooms: Rooms, sizes: Sequence[int], levels: Sequence[str]) -> Spread:
    fit = 0
    for missing in rooms.prices(sizes[-1]):
        bins = bins_of(rooms, sizes[-1], missing)
        fit = takes(bins, sizes)
        if fit < len(sizes):
            continue
        parts, rest = _by_groups(rooms, bins, sizes, levels)
        if not rest:
            return Spread(_seats(parts), len(sizes))
        if mixture := _exactly(bins, sizes):
            return Spread(_seats(mixture), len(sizes))
        fit = len(sizes) - len(rest)
    return Spread((), fit)


def bins_of(rooms: Rooms, least: int, missing: int) -> list[Bin]:
    """The domains that hold `least` nodes at that price, by index."""
    bins: list[Bin] = []
    for free, domains in rooms.holding(least, missing):
        for domain in bits(domains):
            spares = rooms.wanted(domain)
            keep = max(rooms.floor, spares - missing, rooms.kept(domain))
            bins.append(Bin(domain, free, free - keep, spares, rooms.recent >> domain & 1))
    bins.sort()
    return bins


def by_group(rooms: Rooms, bins: Sequence[Bin], level: str) -> list[tuple[int, list[Bin]]]:
    """The domains by the groups of a level, by index."""
    group_of = rooms.space.topology.group_of[level]
    groups: defaultdict[int, list[Bin]] = defaultdict(list)
    for bin in bins:
        groups[group_of[bin.domain]].append(bin)
    return list(groups.items())


def _by_groups(rooms: Rooms, bins: Sequence[Bin], sizes: Sequence[int], levels: Sequence[str]) -> tuple[Parts, list[int]]:
    """Sizes of slices by domain, and the sizes of those that found no place; levels come outermost first."""
    if not levels:
        packing, left = _pack(rooms, bins, sizes)
        return packing.parts, left
    groups = dict(by_group(rooms, bins, levels[0]))
    parts: Parts = {}
    rest = list(sizes)
    while rest and groups:
        fits = {group: takes(members, rest) for group, members in groups.items()}
        packed = [_by_groups(rooms, groups[group], rest, levels[1:]) for group, fit in fits.items() if fit >= len(rest)]
        if holding := [found for found, left in packed if not left]:
            return parts | min(holding, key=lambda found: score(rooms, found)), []
        fullest = max(fits, key=lambda group: (fits[group], -group))
        found, rest = _by_groups(rooms, groups.pop(fullest), rest, levels[1:])
        parts |= found
    return parts, rest


def _pack(rooms: Rooms, bins: Sequence[Bin], sizes: Sequence[int]) -> tuple[Packing, list[int]]:
    packing = Packing(bins, rooms.flaws)
    return packing, packing.pour(sizes)


def score(rooms: Rooms, parts: Mapping[int, Sequence[int]]) -> tuple[int, ...]:
    """What is better of two ways to place the same slices at one price is smaller; ends in the first domain used.

    Fewest domains, missing spares in all, domains in which a node has failed of late, least left over in the domains, then in their racks
    and blocks, fewest flaws.
    """
    used = {domain: sum(sizes) for domain, sizes in parts.items()}
    count = rooms.space.count
    return (
        len(used),
        sum(max(0, rooms.wanted(domain) - (count[domain] - nodes)) for domain, nodes in used.items()),
        sum(rooms.recent >> domain & 1 for domain in used),
        sum(count[domain] - nodes for domain, nodes in used.items()),
        *(sum({totals.group(domain): totals.of(domain) for domain in used}.values()) for totals in rooms.space.outer),
        *map(sum, zip(*(rooms.flaws(domain, nodes) for domain, nodes in used.items()), strict=True)),
        min(used, default=-1),
    )


def _seats(parts: Mapping[int, Sequence[int]]) -> Seats:
    return tuple((domain, -size) for size, domain in sorted(_negated(parts)))


def _negated(parts: Mapping[int, Sequence[int]]) -> Iterator[tuple[int, int]]:
    return ((-size, domain) for domain, sizes in parts.items() for size in sizes)
