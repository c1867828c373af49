"""How much of each domain a request may use, and where it fits at which price in spares.

Nothing here looks at domains one by one: they lie in buckets by how many nodes they have free, and in masks by how many spares their jobs
want, so each question is a few operations on masks over all domains. A placement misses a spare for each node that its domain should keep
free beside it and cannot. Work below a slice may not use what a domain owes already; all other work prefers not to.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusters.domain.policy import Policy
from clusters.domain.setting import SparesScope
from clusters.domain.space import Space
from scheduling.domain.nodes import Flaws, node_flaws
from scheduling.domain.shape import Shape


class Rooms:
    """One request's view of the space."""

    __slots__ = ("_owing", "alone", "area", "floor", "policy", "recent", "small", "space", "spares")

    def __init__(self, space: Space, shape: Shape, policy: Policy, recent: int = 0, home: int = 0) -> None:
        """`recent` are domains in which a node has failed of late, `home` those that the job itself has closed to others (both masks)."""
        widest = len(space.buckets) - 1  # no domain can keep more nodes than it has
        self.space = space
        self.policy = policy
        self.recent = recent
        self.alone = shape.exclusive
        self.area = (empty_domains(space) if shape.exclusive else ~space.closed) | home
        self.small = shape.small
        self.spares = min(shape.spares, widest)
        self.floor = min(shape.floor, widest)
        self._owing = sorted(
            ((min(policy.target_spares if spares is None else spares, widest), domains) for spares, domains in space.owing.items()),
            reverse=True,
        )
        if policy.spares_scope is SparesScope.ALL:
            self._owing.append((min(policy.target_spares, widest), (1 << len(space.count)) - 1))
            self._owing.sort(reverse=True)

    def kept(self, domain: int) -> int:
        """Free nodes of the domain that the request may not use by themselves: the owed spares, for work below a slice."""
        return self.space.owed(domain, self.policy) if self.small else 0

    def wanted(self, domain: int) -> int:
        """Spares that the domain should keep once the request has a slice there."""
        mark = 1 << domain
        return max(self.spares, next((spares for spares, domains in self._owing if domains & mark), 0))

    def prices(self, nodes: int) -> range:
        """Numbers of missing spares worth asking for, fewest first, when `nodes` are to be placed in one domain."""
        fullest = next((free for free in range(len(self.space.buckets) - 1, 0, -1) if self.space.buckets[free]), 0)
        most_wanted = self._owing[0][0] if self._owing and not self.small else 0
        return range(max(0, self.spares - max(0, fullest - nodes)), max(self.spares, most_wanted) + 1)

    def holding(self, nodes: int, missing: int) -> Iterator[tuple[int, int]]:
        """(free nodes, mask of domains), fewest free first, of those that hold `nodes` with at most `missing` spares missing."""
        buckets = self.space.buckets
        for free in range(nodes + max(self.floor, self.spares - missing), len(buckets)):
            if domains := buckets[free] & self.area:
                beside = free - nodes
                domains &= ~self._wanting(beside + 1 if self.small else beside + missing + 1)
                if domains:
                    yield free, domains

    def usable(self) -> Iterator[tuple[int, int, int]]:
        """(nodes the request may use, free nodes, mask of domains) over all domains."""
        for free, domains in enumerate(self.space.buckets):
            rest = domains & self.area
            if self.small:
                for wanted, owing in self._owing:
                    if owed := rest & owing:
                        yield max(0, free - max(wanted, self.floor)), free, owed
                        rest &= ~owing
            if rest:
                yield max(0, free - self.floor), free, rest

    def in_turn(self, area: int) -> tuple[int, ...]:
        """The area (a mask of domains) without the domains in which a node has failed of late, and then those."""
        return (area & ~self.recent, area & self.recent) if self.recent else (area,)

    def tightest(self, domains: int) -> int:
        """Of domains that serve alike those of the most broken racks, and of them those of the most broken blocks (masks)."""
        for totals in self.space.outer:
            domains = totals.tightest(domains)
        return domains

    def flaws(self, domain: int, nodes: int) -> Flaws:
        """What there is against the nodes that the domain would give."""
        return node_flaws(self.space, domain, nodes, self.kept(domain))

    def _wanting(self, spares: int) -> int:
        """Mask of the domains whose jobs, or the policy, want at least so many spares."""
        mask = 0
        for wanted, domains in self._owing:
            if wanted < spares:
                break
            mask |= domains
        return mask


def empty_domains(space: Space) -> int:
    """Mask of the domains without any work."""
    return int("".join("0" if used else "1" for used in reversed(space.used)) or "0", 2) & ~space.closed
