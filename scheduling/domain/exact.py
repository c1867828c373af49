"""Whether slices of two or three sizes fit into domains that hold several: exactly, by dynamic programming.

Sizes of one job are a larger one, one a unit smaller, and at most one tail; any three do. For each number of large slices placed so far,
with and without the tail, it keeps the most slices of the middle size that the domains looked at can take beside them. Greedy packing is
tried first, and this only where that failed: it answers whether and where, not how tightly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scheduling.domain.packing import Bin, classes

#: (large slices, tails) placed -> the most middle ones beside them.
_Reach = dict[tuple[int, int], int]


def fit_exactly(bins: Sequence[Bin], sizes: Sequence[int]) -> dict[int, list[int]] | None:
    """Sizes of slices by domain, larger first; None where no packing holds them all."""
    large, middle, tail = _roles(sizes)
    reaches: list[_Reach] = [{(0, 0): 0}]
    for bin in bins:
        reaches.append(_extend(reaches[-1], list(_mixtures(bin.cap, large, middle, tail)), (large[1], middle[1], tail[1])))
    goal = (large[1], tail[1])
    if reaches[-1].get(goal, -1) < middle[1]:
        return None
    return _trace(bins, reaches, (large, middle, tail))


_Class = tuple[int, int]  # size, number of slices


def _roles(sizes: Sequence[int]) -> tuple[_Class, _Class, _Class]:
    found = classes(sizes)
    none = (0, 0)
    return found[0], found[1] if len(found) > 1 else none, found[2] if len(found) > 2 else none


def _mixtures(cap: int, large: _Class, middle: _Class, tail: _Class) -> Iterator[tuple[int, int, int]]:
    """(large, middle, tails) slices that a domain of that capacity can take, with as many middle ones as go beside the others."""
    for tails in range(tail[1] + 1):
        left = cap - tails * tail[0]
        for larges in range(min(large[1], left // large[0]) + 1 if left >= 0 else 0):
            yield larges, min(middle[1], (left - larges * large[0]) // middle[0]) if middle[0] else 0, tails


def _extend(reach: _Reach, mixtures: Sequence[tuple[int, int, int]], most: tuple[int, int, int]) -> _Reach:
    wider: _Reach = {}
    for (larges, tails), middles in reach.items():
        for more_larges, more_middles, more_tails in mixtures:
            key = (larges + more_larges, tails + more_tails)
            if key[0] <= most[0] and key[1] <= most[2]:
                wider[key] = max(wider.get(key, -1), min(most[1], middles + more_middles))
    return wider


def _trace(bins: Sequence[Bin], reaches: Sequence[_Reach], roles: tuple[_Class, _Class, _Class]) -> dict[int, list[int]]:
    """Walk back from the goal and collect what each domain takes."""
    large, middle, tail = roles
    larges, middles, tails = large[1], middle[1], tail[1]
    parts: dict[int, list[int]] = {}
    for bin, before in zip(reversed(bins), reversed(reaches[:-1]), strict=True):
        for more_larges, more_middles, more_tails in _mixtures(bin.cap, large, middle, tail):
            known = before.get((larges - more_larges, tails - more_tails), -1)
            if known >= 0 and known + more_middles >= middles:
                took = max(0, middles - known)
                larges, middles, tails = larges - more_larges, middles - took, tails - more_tails
                sizes = [large[0]] * more_larges + [middle[0]] * took + [tail[0]] * more_tails
                if sizes:
                    parts[bin.domain] = sizes
                break
    return parts
