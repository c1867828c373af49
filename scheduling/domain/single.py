"""One slice: the domain that holds it best.

Order of choice: fewest missing spares, the areas in the order given (a moved slice stays near the rest of its job), least left over, fewest
degraded nodes, fewest repeat offenders, lowest index. Domains are indexed by their names in natural order, so the last tie ends in a name.
"""

from __future__ import annotations

from scheduling.domain.nodes import bits, first_soundest, flaws
from scheduling.domain.rooms import Rooms

#: All domains, as a mask.
EVERYWHERE = -1


def best_domain(rooms: Rooms, nodes: int, areas: tuple[int, ...]) -> int | None:
    """The domain for a slice of `nodes` inside the first of the areas (masks of domains) that serves, or None."""
    for missing in rooms.prices(nodes):
        for area in areas:
            for _, domains in rooms.holding(nodes, missing):
                if domains & area:
                    return first_soundest(bits(domains & area), lambda domain: flaws(rooms.space, domain, nodes, rooms.kept(domain)))
    return None
