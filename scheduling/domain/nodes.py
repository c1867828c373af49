"""Which nodes of a domain a slice gets: healthy before degraded, repeat offenders last, then the lowest index.

Work below a slice leaves alone the spares that the domain owes: its last free nodes by index. Ranks follow the index, so a slice's rank
order is contiguous inside its domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from clusters.domain.space import Space

#: (degraded nodes, repeat offenders) of those used: fewer is better, in this order.
Flaws = tuple[int, int]

NO_FLAWS: Flaws = (0, 0)


def choose_nodes(space: Space, domain: int, count: int, kept: int, last: int = 0, within: int = -1) -> int:
    """Mask of the `count` best free nodes of the domain: none of the last `kept` free ones, those in `last` only for want of others.

    All of them `within` that mask.

    The domain must have that many.
    """
    free = without_last(space.free[domain], kept) & within
    degraded, offenders = space.degraded[domain], space.offenders[domain]
    if not free & (degraded | offenders | last):
        return lowest(free, count)
    chosen = 0
    for group in (free & ~last, free & last):
        for half in (group & ~degraded, group & degraded):
            for rank in (half & ~offenders, half & offenders):
                chosen |= lowest(rank, count - chosen.bit_count())
    return chosen


def node_flaws(space: Space, domain: int, count: int, kept: int) -> tuple[int, int]:
    """(degraded nodes, repeat offenders) among the nodes that would be chosen."""
    degraded, offenders = space.degraded[domain], space.offenders[domain]
    if not space.free[domain] & (degraded | offenders):
        return 0, 0
    chosen = choose_nodes(space, domain, count, kept)
    return (chosen & degraded).bit_count(), (chosen & offenders).bit_count()


def without_last(mask: int, count: int) -> int:
    """The mask without its `count` highest bits."""
    for _ in range(min(count, mask.bit_count())):
        mask ^= 1 << mask.bit_length() - 1
    return mask


def lowest(mask: int, count: int) -> int:
    """The `count` lowest bits of the mask, or all of them where it has fewer."""
    surplus = mask.bit_count() - count
    if surplus <= 0:
        return mask
    if surplus < count:
        return without_last(mask, surplus)
    rest = mask
    for _ in range(count):
        rest &= rest - 1
    return mask ^ rest


def bits(mask: int) -> Iterator[int]:
    """The places of the mask's bits, lowest first."""
    while mask:
        bit = mask & -mask
        yield bit.bit_length() - 1
        mask ^= bit


def first_soundest(candidates: Iterable[int], flaws_of: Callable[[int], Flaws]) -> int | None:
    """The first of the candidates with the fewest flaws; looks no further than one without any."""
    best, least = None, NO_FLAWS
    for candidate in candidates:
        found = flaws_of(candidate)
        if found == NO_FLAWS:
            return candidate
        if best is None or found < least:
            best, least = candidate, found
    return best
