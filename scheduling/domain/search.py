"""Any slices into any domains: exactly, by a search that ends.

Two sizes, and a few tails, are the matter of `exact`. With more, slices go largest first, each into every kind of domain that holds it, and
what has been tried from one situation is not tried again. Domains with as much left that lie in the same areas are of one kind, so a
situation is a few numbers, however many domains there are. That finds a packing wherever there is one, unless it is about to look at more
than `MOST_WORK` kinds: then it gives up, and the slices wait as if they did not fit. Filling places nearly all that can be placed, so what
comes here is rare, and what is given up needs many domains that hold several slices of many sizes each, and hardly any room to spare.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Hashable, Iterator, Mapping, Sequence

from scheduling.domain.exact import fit_exactly
from scheduling.domain.packing import Bin, classes
from scheduling.domain.single import EVERYWHERE

#: Kinds of domains looked at over all situations, some ten microseconds each.
MOST_WORK = 4_000
#: Slices of one search: each is a step deeper.
MOST_SLICES = 256
#: Slices of a third size that `exact` is fast with.
MOST_TAILS = 2

#: Sizes of slices by domain.
Found = dict[int, list[int]]
#: Nodes left in a domain, and the areas that it lies in.
Kind = tuple[int, Hashable]


def search(bins: Sequence[Bin], sizes: Sequence[int]) -> Found | None:
    """Sizes of slices, which come larger first, by domain; None where no packing was found."""
    counts = [count for _, count in classes(sizes)]
    if len(counts) <= 2 or (len(counts) == 3 and counts[2] <= MOST_TAILS):
        return fit_exactly(bins, sizes)
    homes = search_areas(bins, [(size, EVERYWHERE) for size in sizes], {})
    if homes is None:
        return None
    found: Found = {}
    for domain, size in zip(homes, sizes, strict=True):
        found.setdefault(domain, []).append(size)
    return found


def search_areas(
    bins: Sequence[Bin], slices: Sequence[tuple[int, int]], areas: Mapping[int, Hashable], work: int = MOST_WORK
) -> list[int] | None:
    """The domain of each slice, for (size, mask of the domains that it may lie in), larger first.

    `areas` tells for each domain in which of the masks it lies; domains that lie in the same ones are alike.
    """
    if len(slices) > MOST_SLICES:
        return None
    tree = _Search(bins, slices, areas, work)
    return tree.homes if tree.run(0) else None


class _Search:
    """One search; `homes` grows and shrinks with it."""

    def __init__(self, bins: Sequence[Bin], slices: Sequence[tuple[int, int]], areas: Mapping[int, Hashable], work: int) -> None:
        self.slices = slices
        self.least = slices[-1][0]
        self.rest = sum(size for size, _ in slices)  # nodes still to be placed
        self.kinds: dict[Kind, list[int]] = {}  # domains by kind, sorted; those too full for any slice are left out
        self.room = 0  # nodes of these
        self.homes: list[int] = []
        self.work = work
        self.failed: set[Hashable] = set()
        for bin in bins:
            self._add(bin.domain, (bin.cap, areas.get(bin.domain)))

    def run(self, place: int) -> bool:
        """Place the slices from here on."""
        if place == len(self.slices):
            return True
        self.work -= len(self.kinds)
        situation = (place, frozenset((kind, len(domains)) for kind, domains in self.kinds.items()))
        if self.work < 0 or self.rest > self.room or situation in self.failed:
            return False
        size, area = self.slices[place]
        for domain, kind in self._candidates(size, area):
            left = (kind[0] - size, kind[1])
            self._drop(domain, kind)
            self._add(domain, left)
            self.homes.append(domain)
            self.rest -= size
            if self.run(place + 1):
                return True
            self.rest += size
            self.homes.pop()
            self._drop(domain, left)
            self._add(domain, kind)
        self.failed.add(situation)
        return False

    def _candidates(self, size: int, area: int) -> Iterator[tuple[int, Kind]]:
        """One domain of each kind, the tightest first."""
        able = ((kind[0], domains[0], kind) for kind, domains in self.kinds.items() if kind[0] >= size)
        for _, domain, kind in sorted(able, key=lambda item: item[:2]):
            if area >> domain & 1:
                yield domain, kind

    def _add(self, domain: int, kind: Kind) -> None:
        if kind[0] >= self.least:
            insort(self.kinds.setdefault(kind, []), domain)
            self.room += kind[0]

    def _drop(self, domain: int, kind: Kind) -> None:
        if kind[0] >= self.least:
            self.kinds[kind].remove(domain)
            self.room -= kind[0]
            if not self.kinds[kind]:
                del self.kinds[kind]
