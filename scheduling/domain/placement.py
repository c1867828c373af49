"""Placement: where a request runs, or why it cannot.

All or nothing, the same answer for the same space, request and policy, and never a constraint weakened: each slice whole in one domain, as
sized. The order of choice is told where each choice is made: `single` for one slice, `several` for more, `gpus` for work below a node,
`nodes` inside a domain. docs/decisions/0005-placement-order.md says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clusters.domain.decision import Refusal
from clusters.domain.job_events import SliceAssignment
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.space import Space
from scheduling.domain.gpus import best_node, lowest_gpus, shared_nodes
from scheduling.domain.nodes import bits, choose_nodes
from scheduling.domain.refusals import blocked
from scheduling.domain.rooms import Rooms
from scheduling.domain.several import spread
from scheduling.domain.shape import Shape, shape_of
from scheduling.domain.single import EVERYWHERE, best_domain

Placement = tuple[SliceAssignment, ...]


def place(space: Space, request: JobRequest, policy: Policy) -> Placement | Refusal:
    """The nodes for a request, slice by slice, larger slices first and equal ones in index order."""
    shape = shape_of(space.topology, request, policy)
    return shape if isinstance(shape, Refusal) else place_shape(space, shape, policy)


def place_shape(space: Space, shape: Shape, policy: Policy, areas: tuple[int, ...] = (EVERYWHERE,)) -> Placement | Refusal:
    """The same for a shape; one slice keeps to the first of the areas (masks of domains) that serves."""
    rooms = Rooms(space, shape, policy)
    if shape.gpus:
        node = best_node(rooms, shape.gpus, areas)
        return _refuse_gpus(rooms, shape) if node is None else (_share(space, node, shape.gpus),)
    if len(shape.sizes) == 1:
        domain = best_domain(rooms, shape.sizes[0], areas)
        return _refuse_nodes(rooms, shape, 0) if domain is None else tuple(_assign(rooms, {domain: shape.sizes}))
    found = spread(rooms, shape.sizes)
    return tuple(_assign(rooms, found.parts)) if found.parts else _refuse_nodes(rooms, shape, found.fit)


def _share(space: Space, node: int, gpus: int) -> SliceAssignment:
    site = space.topology.nodes[node]
    return SliceAssignment(domain=site.domain or "", nodes=(site.name,), gpus=lowest_gpus(space, node, gpus))


def _assign(rooms: Rooms, parts: Mapping[int, Sequence[int]]) -> Iterator[SliceAssignment]:
    """Nodes for the slices of each domain, in rank order."""
    topology = rooms.space.topology
    nodes = {domain: iter(_names(rooms, domain, sum(sizes))) for domain, sizes in parts.items()}
    ranked = sorted((-size, domain) for domain, sizes in parts.items() for size in sizes)
    for size, domain in ranked:
        names = tuple(next(nodes[domain]) for _ in range(-size))
        yield SliceAssignment(domain=topology.domains[domain].name, nodes=names)


def _names(rooms: Rooms, domain: int, count: int) -> list[str]:
    sites = rooms.space.topology.nodes
    first = rooms.space.topology.domains[domain].first
    return [sites[first + bit].name for bit in bits(choose_nodes(rooms.space, domain, count, rooms.kept(domain)))]


def _refuse_nodes(rooms: Rooms, shape: Shape, fit: int) -> Refusal:
    counts: dict[str, int | str] = {"slices": len(shape.sizes), "slice_size": shape.sizes[0], "nodes": shape.nodes, "fit": fit}
    usable = kept = fitting_domains = best = 0
    best_domain = -1
    for nodes, free, domains in rooms.usable():
        many = domains.bit_count()
        usable += nodes * many
        kept += (free - nodes) * many
        fitting_domains += many if nodes else 0
        first = (domains & -domains).bit_length() - 1
        if nodes > best or (nodes == best and nodes and first < best_domain):
            best, best_domain = nodes, first
    counts |= {"free_nodes": usable, "free_domains": fitting_domains, "spares_kept": kept}
    if best:
        counts |= {"best_domain": rooms.space.topology.domains[best_domain].name, "best_free": best}
    return blocked(shape.nodes, usable, counts)


def _refuse_gpus(rooms: Rooms, shape: Shape) -> Refusal:
    topology = rooms.space.topology
    shared = [(left, -node) for node, left in shared_nodes(rooms.space)]
    counts: dict[str, int | str] = {"gpus": shape.gpus}
    spares = sum((free - nodes) * domains.bit_count() for nodes, free, domains in rooms.usable())
    if shared:
        best, node = max(shared)
        counts |= {"best_node": topology.nodes[-node].name, "best_gpus": best}
    usable = sum(left for left, _ in shared)
    return blocked(shape.gpus, usable, {**counts, "free_gpus": usable, "spares_kept": spares})
