"""Any slices into any domains: exactly, by a search that ends.

Up to three sizes are the matter of `exact`. With more, slices go largest first, each into every domain that holds it, of domains that are
alike only the first, and what has been tried from one situation is not tried again. That finds a packing wherever there is one, unless it
is about to look at more than `MOST_WORK` domains: then it gives up, and the slices wait as if they did not fit. Filling places nearly all
that can be placed, so what comes here is rare, and what is given up needs many domains that hold several slices of many sizes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from scheduling.domain.exact import MOST_CLASSES, fit_exactly
from scheduling.domain.packing import Bin, classes
from scheduling.domain.single import EVERYWHERE

#: Domains looked at over all situations, a fraction of a microsecond each.
MOST_WORK = 100_000
#: Slices of one search: each is a step deeper.
MOST_SLICES = 256

#: Sizes of slices by domain.
Found = dict[int, list[int]]


def search(bins: Sequence[Bin], sizes: Sequence[int]) -> Found | None:
    """Sizes of slices, which come larger first, by domain; None where no packing was found."""
    if len(classes(sizes)) <= MOST_CLASSES:
        return fit_exactly(bins, sizes)
    homes = search_areas(bins, [(size, EVERYWHERE) for size in sizes], {})
    if homes is None:
        return None
    found: Found = {}
    for domain, size in zip(homes, sizes, strict=True):
        found.setdefault(domain, []).append(size)
    return found


def search_areas(bins: Sequence[Bin], slices: Sequence[tuple[int, int]], kinds: Mapping[int, Hashable]) -> list[int] | None:
    """The domain of each slice, for (size, mask of the domains that it may lie in), larger first; those of a kind lie in the same masks."""
    tree = _Search({bin.domain: bin.cap for bin in bins}, slices, kinds)
    return tree.homes if len(slices) <= MOST_SLICES and tree.run(0) else None


class _Search:
    """One search; `homes` grows and shrinks with it."""

    def __init__(self, left: dict[int, int], slices: Sequence[tuple[int, int]], kinds: Mapping[int, Hashable]) -> None:
        self.left = left
        self.slices = slices
        self.kinds = kinds
        self.homes: list[int] = []
        self.work = MOST_WORK
        self.failed: set[Hashable] = set()

    def run(self, place: int) -> bool:
        """Place the slices from here on."""
        if place == len(self.slices):
            return True
        self.work -= len(self.left)
        situation = (place, tuple(sorted((left, hash(self.kinds.get(domain))) for domain, left in self.left.items())))
        if self.work < 0 or situation in self.failed:
            return False
        size, area = self.slices[place]
        for domain in self._candidates(size, area):
            self.left[domain] -= size
            self.homes.append(domain)
            if self.run(place + 1):
                return True
            self.left[domain] += size
            self.homes.pop()
        self.failed.add(situation)
        return False

    def _candidates(self, size: int, area: int) -> Iterator[int]:
        """The tightest first, one of each kind."""
        seen: set[tuple[int, Hashable]] = set()
        for left, domain in sorted((left, domain) for domain, left in self.left.items() if left >= size and area >> domain & 1):
            kind = (left, self.kinds.get(domain))
            if kind not in seen:
                seen.add(kind)
                yield domain
