"""What could ever run: the same placement on the registered inventory, all healthy and empty.

A request that does not fit there is refused at submission, with what would fit: the suggestion has been placed, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from clusters.domain.constraints import LevelMode
from clusters.domain.decision import Refusal
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.space import Space
from clusters.domain.state import ClusterState
from scheduling.domain.parallelism.check import unit_nodes
from scheduling.domain.placement import place, place_shape
from scheduling.domain.refusals import infeasible
from scheduling.domain.shape import Shape, may_borrow, shape_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """How a request would be cut."""

    slices: tuple[int, ...]  # nodes of each slice, larger first; empty for work below a node
    gpus: int  # of one node, for work below a node; else 0
    text: str


def preview(state: ClusterState, request: JobRequest) -> Preview | Refusal:
    """The slices that the request would get, or why it can never be placed."""
    shape = shape_of(state.topology, request, state.policy)
    if isinstance(shape, Refusal):
        return shape
    refusal = could_never_fit(whole_space(state), request, state.policy)
    if refusal is not None:
        return refusal
    return Preview(slices=() if shape.gpus else shape.sizes, gpus=shape.gpus, text=_words(shape))


def could_never_fit(whole: Space, request: JobRequest, policy: Policy) -> Refusal | None:
    """Why no state of the inventory could serve the request; None where some could. `whole` is its `whole_space`."""
    shape = shape_of(whole.topology, request, policy)
    if isinstance(shape, Refusal):
        return shape
    outcome = place_shape(whole, shape, policy)
    if not isinstance(outcome, Refusal):
        return None
    if shape.small and _has_place(whole, shape, replace(policy, target_spares=0, min_spares=0)):
        borrows = may_borrow(policy, request) and not shape.gpus
        return None if borrows and _has_place(whole, replace(shape, small=False, spares=0), policy) else _all_spares(request, shape)
    if shape.gpus:
        return infeasible("gpus", shape.gpus, "no node has that many GPUs; ask for whole nodes instead")
    field, value = ("nodes", request.nodes) if request.nodes is not None else ("gpus", request.gpus or 0)
    return infeasible(field, value, _what_fits(whole, shape, request, policy, outcome))


def _has_place(whole: Space, shape: Shape, policy: Policy) -> bool:
    return not isinstance(place_shape(whole, shape, policy), Refusal)


def _all_spares(request: JobRequest, shape: Shape) -> Refusal:
    """Work below a slice for which the policy leaves no node, not even of an empty cluster."""
    field, value = ("nodes", request.nodes) if request.nodes is not None else ("gpus", request.gpus or 0)
    lend = ", or lending to restartable work" if not shape.gpus else ""
    return infeasible(field, value, f"the policy keeps all nodes that it could have as spares; it takes fewer target_spares{lend}")


def whole_space(state: ClusterState) -> Space:
    """The registered inventory, all healthy and empty. A node with a data error is none that slices could use."""
    topology = state.topology
    space = Space(topology)
    for domain, group in enumerate(topology.domains):
        space.placeable[domain] = (1 << group.size) - 1 if topology.known[domain] else 0
    for index, site in enumerate(topology.nodes):
        if state.nodes[site.name].problem:
            domain, bit = space.locate(index)
            space.placeable[domain] &= ~bit
    for domain, nodes in enumerate(space.placeable):
        space.give_mask(domain, nodes)
    return space


def _what_fits(whole: Space, shape: Shape, request: JobRequest, policy: Policy, refusal: Refusal) -> str:
    if shape.parts:
        counts = refusal.counts
        if "part" not in counts:
            return f"no {shape.level} holds all its parts; prefer the {request.level} rather than require it"
        return f"its parts do not fit together: of part {counts['part']} {counts['part_fit']} of {counts['part_slices']} slices do"
    size = max(shape.sizes)
    best = int(refusal.counts.get("best_free", 0))
    if not best:
        return "no domain of this cluster can take work on several nodes" if shape.nodes > 1 else "this cluster has no usable node"
    if best < size:
        return f"no domain holds a slice of {size} nodes; {_smaller_slice(whole, request, best)}"
    unit = _unit(whole, request)
    most = _most_units(whole, request, policy, unit, min(shape.nodes, int(refusal.counts["free_nodes"])) // unit)
    other = f", or prefer the {request.level} rather than require it" if shape.mode is LevelMode.REQUIRED else ""
    if request.layers and not most:
        return f"no {request.layers[0].level} holds {unit} nodes in such slices{other}; give smaller layers"
    return f"give at most {most * unit} nodes{other}" if most else f"give a max_slice of at most {best}{other}"


def _smaller_slice(whole: Space, request: JobRequest, best: int) -> str:
    if request.slice_size is None and request.plan is not None and _unit(whole, request) > best:
        return f"give a plan whose TP x EP groups fill at most {best} nodes"
    return f"give a {'slice_size' if (request.slice_size or 0) > best else 'max_slice'} of at most {best}"


def _unit(whole: Space, request: JobRequest) -> int:
    """Nodes by which the request can become smaller."""
    if request.layers:
        return request.layers[0].size
    gpus = whole.topology.usual_gpus
    return request.slice_size or (unit_nodes(request.plan, gpus) if request.plan and gpus else 1)


def _most_units(whole: Space, request: JobRequest, policy: Policy, unit: int, bound: int) -> int:
    """Units that fit, found by halving; whatever it answers has been placed."""
    fits, fails = 0, bound + 1
    size = request.slice_size or (None if request.layers or unit == 1 else unit)
    while fails - fits > 1:
        units = (fits + fails) // 2
        smaller = replace(request, nodes=units * unit, gpus=None, tail=False, plan=None, slice_size=size)
        if isinstance(place(whole, smaller, policy), Refusal):
            fails = units
        else:
            fits = units
    return fits


def _words(shape: Shape) -> str:
    if shape.gpus:
        return f"{shape.gpus} GPU{'s' if shape.gpus > 1 else ''} of one node"
    if shape.parts:
        return (
            "; ".join(f"part {part.name}: {' + '.join(map(str, part.sizes))} nodes" for part in shape.parts)
            + ", each slice whole in one domain"
        )
    if len(shape.sizes) == 1:
        return f"1 slice of {shape.sizes[0]} node{'s' if shape.sizes[0] > 1 else ''}, whole in one domain"
    return f"{len(shape.sizes)} slices: {' + '.join(map(str, shape.sizes))} nodes, each whole in one domain"
