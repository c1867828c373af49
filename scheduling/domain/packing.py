"""Several slices into given domains: whole slices each, fewest domains, least left over.

`pour` goes through the sizes from the largest down. It fills domains that are in use already, then those that hold most slices, and for
the last few slices it takes the domain they leave least of. Where a domain holds one slice at most, or all slices are of one size, that
places every set of slices that can be placed at all. Otherwise it may fail where another mixture of sizes would fit: `exact` finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from scheduling.domain.nodes import Flaws

#: What there is against the nodes that a domain would give: (domain, nodes) -> flaws.
FlawsOf = Callable[[int, int], Flaws]


class Bin(NamedTuple):
    """A domain as packing sees it."""

    domain: int
    free: int
    cap: int  # of these, nodes that may be used
    spares: int  # nodes that should stay free
    recent: int = 0  # 1: a node has failed there of late

    def missing(self, used: int) -> int:
        """Spares it would miss with so many nodes used."""
        return max(0, self.spares - (self.free - used))


class Packing:
    """Which domain takes slices of which sizes."""

    def __init__(self, bins: Sequence[Bin], flaws: FlawsOf) -> None:
        self._bins = {bin.domain: bin for bin in bins}
        self._left = {bin.domain: bin.cap for bin in bins}
        self._flaws = flaws
        self.parts: dict[int, list[int]] = {}

    def put(self, domain: int, size: int, count: int) -> int:
        """Add up to `count` slices to a domain; returns how many went in."""
        fits = min(count, self._left[domain] // size)
        if fits:
            self._left[domain] -= fits * size
            self.parts.setdefault(domain, []).extend([size] * fits)
        return fits

    def pour(self, sizes: Sequence[int]) -> list[int]:
        """Add these slices, larger first, as far as they fit; returns the sizes of those that did not."""
        rest: list[int] = []
        for size, count in classes(sizes):
            rest += [size] * self._pour(size, count)
        return rest

    def _pour(self, size: int, count: int) -> int:
        for domain in sorted(self.parts):
            count -= self.put(domain, size, count)
        fresh = [bin for bin in self._bins.values() if bin.domain not in self.parts and bin.cap >= size]
        fresh.sort(key=lambda bin: (-min(count, bin.cap // size), *self._rank(bin, size * min(count, bin.cap // size))))
        for place, bin in enumerate(fresh):
            if count and bin.cap // size > count:
                holding = (other for other in fresh[place:] if other.cap // size >= count)
                bin = min(holding, key=lambda other: self._rank(other, size * count))
            if not count:
                break
            count -= self.put(bin.domain, size, count)
        return count

    def _rank(self, bin: Bin, nodes: int) -> tuple[int, ...]:
        return (bin.missing(nodes), bin.recent, bin.free - nodes, *self._flaws(bin.domain, nodes), bin.domain)


def takes(bins: Sequence[Bin], sizes: Sequence[int]) -> int:
    """How many of the slices these domains take: at most, and exactly where the slices have one size or each domain holds one."""
    taken = 0
    for size, count in classes(sizes):
        taken += max(0, min(count, sum(bin.cap // size for bin in bins) - taken))
    return taken


def classes(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """(size, number of slices) of sizes that come larger first."""
    return [(size, len(list(same))) for size, same in groupby(sizes)]
