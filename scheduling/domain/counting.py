"""Counted reasons: what there is of what a request needs, at the moment that it is refused."""

from __future__ import annotations

from clusters.domain.constraints import LevelMode
from clusters.domain.decision import Refusal
from scheduling.domain.gpus import shared_nodes
from scheduling.domain.parts import Together
from scheduling.domain.refusals import blocked
from scheduling.domain.rooms import Rooms
from scheduling.domain.shape import Shape


def refuse_nodes(rooms: Rooms, shape: Shape, fit: int, group: int = -1) -> Refusal:
    """Why the slices do not fit; `fit` of them do, in the best group of the level where one is required."""
    topology = rooms.space.topology
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
        counts |= {"best_domain": topology.domains[best_domain].name, "best_free": best}
    if shape.mode is LevelMode.REQUIRED:
        counts |= {"level": shape.level, "group_nodes": sum(shape.sizes[len(shape.sizes) - fit :])}
        if group >= 0:
            counts |= {"best_group": topology.groups[shape.level][group].name}
    if shape.layers:
        counts |= {"layers": ", ".join(f"{layer.size} a {layer.level}" for layer in shape.layers)}
    if shape.exclusive:
        counts |= {"empty_domains": rooms.area.bit_count()}
    return blocked(shape.nodes, usable, counts)


def refuse_parts(rooms: Rooms, shape: Shape, together: Together) -> Refusal:
    """Why the parts do not all fit: the first that found no place beside those before it."""
    refusal = refuse_nodes(rooms, shape, 0)
    if together.part < 0:
        return refusal
    part = shape.parts[together.part]
    told: dict[str, int | str] = {
        "part": part.name,
        "part_fit": together.spread.fit,
        "part_size": part.sizes[0],
        "part_slices": len(part.sizes),
        "parts": len(shape.parts),
    }
    return Refusal(code=refusal.code, counts=dict(sorted({**refusal.counts, **told}.items())))


def refuse_gpus(rooms: Rooms, shape: Shape) -> Refusal:
    """Why no node has that many GPUs free."""
    topology = rooms.space.topology
    shared = [(left, -node) for node, left in shared_nodes(rooms.space)]
    counts: dict[str, int | str] = {"gpus": shape.gpus}
    spares = sum((free - nodes) * domains.bit_count() for nodes, free, domains in rooms.usable())
    if shared:
        best, node = max(shared)
        counts |= {"best_node": topology.nodes[-node].name, "best_gpus": best}
    usable = sum(left for left, _ in shared)
    return blocked(shape.gpus, usable, {**counts, "free_gpus": usable, "spares_kept": spares})
