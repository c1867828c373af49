"""Several slices: fewest missing spares, fewest blocks, fewest domains, least left over, fewest flaws, lowest index.

Prices in spares are asked for from the lowest up: first with every domain keeping all its spares, then with one missing in a domain at
most, and so on. At one price, all slices in one block is best; else the block that takes most goes first. With slices of one size, or
domains that hold one slice, that is the fewest blocks there can be; with mixtures it is close, and what can be placed is placed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scheduling.domain.exact import fit_exactly
from scheduling.domain.nodes import bits, flaws
from scheduling.domain.packing import Bin, Packing, classes
from scheduling.domain.rooms import Rooms


class Spread(NamedTuple):
    """Sizes of slices by domain; empty when they do not all fit, and then `fit` says how many do."""

    parts: Mapping[int, Sequence[int]]
    fit: int


def spread(rooms: Rooms, sizes: Sequence[int]) -> Spread:
    """The domains for these slices, larger first."""
    fit = 0
    for missing in rooms.prices(sizes[-1]):
        bins = _bins(rooms, sizes[-1], missing)
        fit = _takes(bins, sizes)
        if fit < len(sizes):
            continue
        parts, rest = _by_blocks(rooms, bins, sizes)
        if not rest:
            return Spread(parts, len(sizes))
        if any(bin.cap >= 2 * sizes[-1] for bin in bins) and (mixture := fit_exactly(bins, sizes)):
            return Spread(mixture, len(sizes))
        fit = len(sizes) - len(rest)
    return Spread({}, fit)


def _bins(rooms: Rooms, least: int, missing: int) -> list[Bin]:
    """The domains that hold a slice of the smallest size, by index."""
    block_of = rooms.space.topology.block_of
    bins: list[Bin] = []
    for free, domains in rooms.holding(least, missing):
        for domain in bits(domains):
            spares = rooms.wanted(domain)
            keep = max(rooms.floor, spares - missing, rooms.kept(domain))
            bins.append(Bin(domain, block_of[domain], free, free - keep, spares))
    bins.sort()
    return bins


def _by_blocks(rooms: Rooms, bins: Sequence[Bin], sizes: Sequence[int]) -> tuple[dict[int, list[int]], list[int]]:
    """Sizes of slices by domain, and the sizes of those that found no place."""
    blocks: defaultdict[int, list[Bin]] = defaultdict(list)
    for bin in bins:
        blocks[bin.block].append(bin)
    parts: dict[int, list[int]] = {}
    rest = list(sizes)
    while rest and blocks:
        takes = {block: _takes(members, rest) for block, members in blocks.items()}
        packings = [_pack(rooms, blocks[block], rest) for block, take in takes.items() if take >= len(rest)]
        if holding := [packing for packing, left in packings if not left]:
            return parts | min(holding, key=Packing.score).parts, []
        fullest = max(takes, key=lambda block: (takes[block], -block))
        packing, rest = _pack(rooms, blocks.pop(fullest), rest)
        parts |= packing.parts
    return parts, rest


def _pack(rooms: Rooms, bins: Sequence[Bin], sizes: Sequence[int]) -> tuple[Packing, list[int]]:
    packing = Packing(bins, lambda domain, nodes: flaws(rooms.space, domain, nodes, rooms.kept(domain)))
    return packing, packing.pour(sizes)


def _takes(bins: Sequence[Bin], sizes: Sequence[int]) -> int:
    """How many of the slices these domains take: at most, and exactly where the slices have one size or each domain holds one."""
    taken = 0
    for size, count in classes(sizes):
        taken += max(0, min(count, sum(bin.cap // size for bin in bins) - taken))
    return taken
