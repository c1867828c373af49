"""Levels inside the domain: the racks of a domain that spans several. Who asks for one gets all nodes of one rack, in one domain."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain

from clusters.domain.topology import Topology
from scheduling.domain.nodes import bits, choose_nodes, without_last
from scheduling.domain.rooms import Rooms
from scheduling.domain.several import Spread


def in_one_inner(rooms: Rooms, sizes: Sequence[int], level: str, areas: Sequence[int]) -> Spread:
    """All slices in one group of the level: of the domain that holds them best, the group that they leave least of.

    Order of choice: fewest missing spares, the areas (masks of domains) in turn, no node failed of late, least left over in the domain, and
    then in the group, fewest flaws, lowest index.
    """
    nodes = sum(sizes)
    for missing in rooms.prices(nodes):
        for area in chain.from_iterable(map(rooms.in_turn, areas)):
            for _, domains in rooms.holding(nodes, missing):
                found = min(_holding(rooms, domains & area, level, nodes), default=None)
                if found is not None:
                    *_, domain, _, mask = found
                    return Spread(tuple((domain, size) for size in sizes), len(sizes), within=mask)
    return _most(rooms, sizes, level)


def group_around(topology: Topology, level: str, node: int) -> int:
    """Mask, in its domain, of the nodes of the level's group that the node (by index) is in."""
    domain = topology.domain_of[node]
    bit = 1 << node - topology.domains[domain].first
    return next(mask for _, mask in _groups(topology, level, domain) if mask & bit)


def _holding(rooms: Rooms, domains: int, level: str, nodes: int) -> Iterator[tuple[int, ...]]:
    for domain in bits(domains):
        for group, mask, usable in _usable(rooms, level, domain):
            if usable >= nodes:
                yield usable - nodes, *_flaws(rooms, domain, nodes, mask), domain, group, mask


def _flaws(rooms: Rooms, domain: int, nodes: int, mask: int) -> tuple[int, int]:
    space = rooms.space
    chosen = choose_nodes(space, domain, nodes, rooms.kept(domain), within=mask)
    return (chosen & space.degraded[domain]).bit_count(), (chosen & space.offenders[domain]).bit_count()


def _usable(rooms: Rooms, level: str, domain: int) -> Iterator[tuple[int, int, int]]:
    """(group, mask of its nodes in the domain, nodes that the request may use) of the groups in a domain."""
    free = without_last(rooms.space.free[domain], rooms.kept(domain))
    most = max(0, rooms.space.count[domain] - rooms.floor)
    for group, mask in _groups(rooms.space.topology, level, domain):
        yield group, mask, min(most, (free & mask).bit_count())


def _groups(topology: Topology, level: str, domain: int) -> Iterator[tuple[int, int]]:
    """(group, mask of its nodes in the domain) of the groups that a domain holds."""
    whole, groups = topology.domains[domain], topology.groups[level]
    for number in range(bisect_left(groups, whole.first, key=lambda group: group.first), len(groups)):
        group = groups[number]
        if group.first >= whole.first + whole.size:
            return
        yield number, (1 << group.size) - 1 << group.first - whole.first


def _most(rooms: Rooms, sizes: Sequence[int], level: str) -> Spread:
    """What the best group would take."""
    every = (domains for _, _, domains in rooms.usable())
    found = [(usable, -group) for domains in every for domain in bits(domains) for group, _, usable in _usable(rooms, level, domain)]
    room, group = max(found, default=(0, 1))
    fit = next((count for count in range(len(sizes), 0, -1) if sum(sizes[len(sizes) - count :]) <= room), 0)
    return Spread((), fit, -group)
