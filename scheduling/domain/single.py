"""One slice: the domain that holds it best.

Order of choice: fewest missing spares, the areas in the order given (a moved slice stays near the rest of its job), no node failed of late,
least left over in the domain, then in its rack and block, fewest degraded nodes, fewest repeat offenders, lowest index. Domains are indexed
by their names in natural order, so the last tie ends in a name.
"""

from __future__ import annotations

from itertools import chain

from clusters.domain.policy import Policy
from clusters.domain.slices import cluster_slice
from clusters.domain.space import Space
from scheduling.domain.nodes import bits, first_soundest
from scheduling.domain.rooms import Rooms

#: All domains, as a mask.
EVERYWHERE = -1


def largest_slice(space: Space, domain: int, policy: Policy) -> int:
    """Nodes of the largest slice that a job of a slice or more could get in the domain now, alone; 0 for none.

    Such a job may use the spares that the domain owes, but not those that the policy says must stay. Nobody enters a domain that exclusive
    work has closed.
    """
    if space.closed >> domain & 1:
        return 0
    return max(0, min(space.count[domain] - policy.min_spares, cluster_slice(space.topology, policy)))


def best_domain(rooms: Rooms, nodes: int, areas: tuple[int, ...]) -> int | None:
    """The domain for a slice of `nodes` inside the first of the areas (masks of domains) that serves, or None."""
    for missing in rooms.prices(nodes):
        for area in chain.from_iterable(map(rooms.in_turn, areas)):
            for _, domains in rooms.holding(nodes, missing):
                if domains & area:
                    return first_soundest(bits(rooms.tightest(domains & area)), lambda domain: rooms.flaws(domain, nodes))
    return None
