"""Placement: where a request runs, or why it cannot.

All or nothing, the same answer for the same space, request and policy, and never a constraint weakened: each slice whole in one domain, as
sized. The order of choice is told where each choice is made: `single` for one slice, `several` for more, `gpus` for work below a node,
`nodes` inside a domain. docs/decisions/0005-placement-order.md says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from clusters.domain.decision import Refusal
from clusters.domain.job_events import SliceAssignment
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.space import Space
from scheduling.domain.counting import refuse_gpus, refuse_nodes, refuse_parts
from scheduling.domain.gpus import best_node, lowest_gpus
from scheduling.domain.nodes import bits, choose_nodes
from scheduling.domain.parts import Ground, place_parts
from scheduling.domain.rooms import Rooms
from scheduling.domain.seating import seats_for
from scheduling.domain.several import Seats
from scheduling.domain.shape import Shape, shape_of
from scheduling.domain.single import EVERYWHERE

Placement = tuple[SliceAssignment, ...]


def place(space: Space, request: JobRequest, policy: Policy, recent: int = 0) -> Placement | Refusal:
    """The nodes for a request, slice by slice in rank order: larger slices first and equal ones in index order, within a part or a run.

    `recent` is a mask of the domains in which a node has failed of late.
    """
    shape = shape_of(space.topology, request, policy)
    return shape if isinstance(shape, Refusal) else place_shape(space, shape, policy, recent=recent)


def place_shape(
    space: Space, shape: Shape, policy: Policy, areas: tuple[int, ...] = (EVERYWHERE,), recent: int = 0, home: int = 0
) -> Placement | Refusal:
    """The same for a shape; one slice keeps to the first of the areas (masks of domains) that serves.

    `home` is a mask of the domains that the job itself has closed to others.
    """
    rooms = Rooms(space, shape, policy, recent, home)
    if shape.gpus:
        node = best_node(rooms, shape.gpus, areas)
        return refuse_gpus(rooms, shape) if node is None else (_share(space, node, shape.gpus),)
    if shape.parts:
        together = place_parts(Ground(space, shape, policy, recent, home))
        seats = tuple(seat for each in together.seats for seat in each)
        return tuple(_assign(rooms, seats)) if seats else refuse_parts(rooms, shape, together)
    found = seats_for(rooms, shape, areas)
    return tuple(_assign(rooms, found.seats, found.within)) if found.seats else refuse_nodes(rooms, shape, found.fit, found.best)


def _share(space: Space, node: int, gpus: int) -> SliceAssignment:
    site = space.topology.nodes[node]
    return SliceAssignment(domain=site.domain or "", nodes=(site.name,), gpus=lowest_gpus(space, node, gpus))


def _assign(rooms: Rooms, seats: Seats, within: int = -1) -> Iterator[SliceAssignment]:
    """Nodes for slices, (domain, size) of each, in rank order; `within` is a mask of the nodes of their only domain to choose from."""
    topology = rooms.space.topology
    totals: dict[int, int] = {}
    for domain, size in seats:
        totals[domain] = totals.get(domain, 0) + size
    nodes = {domain: iter(_names(rooms, domain, total, within)) for domain, total in totals.items()}
    for domain, size in seats:
        yield SliceAssignment(domain=topology.domains[domain].name, nodes=tuple(islice(nodes[domain], size)))


def _names(rooms: Rooms, domain: int, count: int, within: int) -> list[str]:
    sites = rooms.space.topology.nodes
    first = rooms.space.topology.domains[domain].first
    return [sites[first + bit].name for bit in bits(choose_nodes(rooms.space, domain, count, rooms.kept(domain), within=within))]
