"""Work below a node: some GPUs of one node.

It goes to a node that is shared already, the one with the fewest free GPUs that suffice, so that whole nodes stay whole; else to a fresh
node of the most broken domain that has room, in the most broken rack and block. An owed spare is never broken for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from clusters.domain.space import Space
from scheduling.domain.nodes import Flaws, bits, first_soundest, without_last
from scheduling.domain.rooms import Rooms


def best_node(rooms: Rooms, gpus: int, areas: tuple[int, ...]) -> int | None:
    """Index of the node for `gpus` GPUs inside the first of the areas (masks of domains) that has one, or None."""
    for area in chain.from_iterable(map(rooms.in_turn, areas)):
        shared = min(_shared(rooms.space, gpus, area & rooms.area), default=None)
        if shared is not None:
            return shared[-1]
        fresh = _fresh(rooms, gpus, area)
        if fresh is not None:
            return fresh
    return None


def lowest_gpus(space: Space, node: int, gpus: int) -> tuple[int, ...]:
    """The first free GPUs of the node."""
    return tuple(islice(bits(space.gpus_left(node)), gpus))


def shared_nodes(space: Space) -> Iterator[tuple[int, int]]:
    """(node, free GPUs) of the nodes that GPU jobs share and that may take more work."""
    for node, left in space.gpu_free.items():
        domain, bit = space.locate(node)
        if left and space.placeable[domain] & bit:
            yield node, left.bit_count()


def _shared(space: Space, gpus: int, area: int) -> Iterator[tuple[int, ...]]:
    """(free GPUs, free nodes of the domain, of its rack and block, node) of each shared node that suffices; the smallest is the best."""
    for node, left in shared_nodes(space):
        domain = space.topology.domain_of[node]
        if left >= gpus and area >> domain & 1:
            yield left, space.count[domain], *(totals.of(domain) for totals in space.outer), node


def _fresh(rooms: Rooms, gpus: int, area: int) -> int | None:
    """A free node with enough GPUs: of the domain with the fewest free nodes, the first without flaws."""
    for _, domains in rooms.holding(1, 0):
        rest = domains & area
        while rest:
            alike = rooms.tightest(rest)
            firsts = (node for domain in bits(alike) if (node := _first(rooms, domain, gpus)) is not None)
            found = first_soundest(firsts, lambda node: _flaws(rooms.space, node))
            if found is not None:
                return found
            rest &= ~alike
    return None


def _first(rooms: Rooms, domain: int, gpus: int) -> int | None:
    """The best free node of the domain, owed spares left alone."""
    space = rooms.space
    first = space.topology.domains[domain].first
    usable = bits(without_last(space.free[domain], rooms.kept(domain)))
    able = (first + bit for bit in usable if space.topology.nodes[first + bit].gpus >= gpus)
    return first_soundest(able, lambda node: _flaws(rooms.space, node))


def _flaws(space: Space, node: int) -> Flaws:
    domain, bit = space.locate(node)
    return int(space.degraded[domain] & bit > 0), int(space.offenders[domain] & bit > 0)
