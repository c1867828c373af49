"""Free nodes by the groups of one level above the domain, with the groups in buckets by how many they have.

The most broken groups are found in a few operations on masks, so that work which may go to several equal domains goes where the least
is left whole.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence


class Totals:
    """Free nodes by group. Masks are over domains."""

    __slots__ = ("_areas", "_group_of", "_marks", "_sums", "free")

    def __init__(self, group_of: Sequence[int], areas: Sequence[int]) -> None:
        """Nothing free yet; `group_of` by domain, `areas` the mask of each group's domains."""
        self._group_of = group_of
        self._areas = areas
        self.free = [0] * len(areas)
        self._marks = {0: (1 << len(group_of)) - 1}  # free nodes -> mask of the domains of the groups with so many
        self._sums = [0]  # the keys of these, sorted

    def copy(self) -> Totals:
        """An independent one."""
        twin = object.__new__(Totals)
        twin._group_of = self._group_of
        twin._areas = self._areas
        twin.free = self.free.copy()
        twin._marks = self._marks.copy()
        twin._sums = self._sums.copy()
        return twin

    def group(self, domain: int) -> int:
        """The group that the domain is in."""
        return self._group_of[domain]

    def of(self, domain: int) -> int:
        """Free nodes of the group that the domain is in."""
        return self.free[self._group_of[domain]]

    def add(self, domain: int, nodes: int) -> None:
        """The domain has so many more nodes free."""
        group = self._group_of[domain]
        area, old = self._areas[group], self.free[group]
        new = self.free[group] = old + nodes
        left = self._marks[old] & ~area
        if left:
            self._marks[old] = left
        else:
            del self._marks[old]
            self._sums.remove(old)
        if new not in self._marks:
            insort(self._sums, new)
            self._marks[new] = area
        else:
            self._marks[new] |= area

    def tightest(self, domains: int) -> int:
        """Of some domains those in the groups with the fewest nodes free."""
        return next((found for total in self._sums if (found := domains & self._marks[total])), 0)

    def __eq__(self, other: object) -> bool:
        """Alike if they count alike."""
        return isinstance(other, Totals) and self.free == other.free

    def __hash__(self) -> int:
        raise TypeError("totals change")

    def __repr__(self) -> str:
        """Their counts."""
        return f"Totals({self.free})"
