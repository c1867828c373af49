"""What could ever run: the same placement on the registered inventory, all healthy and empty.

A request that does not fit there is refused at submission, with what would fit: the suggestion has been placed, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from clusters.domain.decision import Refusal
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.space import Space
from clusters.domain.state import ClusterState
from scheduling.domain.placement import place, place_shape
from scheduling.domain.refusals import infeasible
from scheduling.domain.shape import Shape, shape_of


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
    if shape.gpus:
        return infeasible("gpus", shape.gpus, "no node has that many GPUs; ask for whole nodes instead")
    field, value = ("nodes", request.nodes) if request.nodes is not None else ("gpus", request.gpus or 0)
    return infeasible(field, value, _what_fits(whole, shape, request, policy, outcome))


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
    size = shape.sizes[0]
    best = int(refusal.counts.get("best_free", 0))
    if not best:
        return "no domain of this cluster can take work on several nodes" if shape.nodes > 1 else "this cluster has no usable node"
    if best < size:
        field = "slice_size" if (request.slice_size or 0) > best else "max_slice"
        return f"no domain holds a slice of {size} nodes; give a {field} of at most {best}"
    unit = request.slice_size or 1
    most = _most_units(whole, request, policy, min(shape.nodes, int(refusal.counts["free_nodes"])) // unit)
    return f"give at most {most * unit} nodes" if most else f"give a max_slice of at most {best}"


def _most_units(whole: Space, request: JobRequest, policy: Policy, bound: int) -> int:
    """Units of whole slices that fit, found by halving; whatever it answers has been placed."""
    fits, fails = 0, bound + 1
    while fails - fits > 1:
        units = (fits + fails) // 2
        smaller = replace(request, nodes=units * (request.slice_size or 1), gpus=None, tail=False)
        if isinstance(place(whole, smaller, policy), Refusal):
            fails = units
        else:
            fits = units
    return fits


def _words(shape: Shape) -> str:
    if shape.gpus:
        return f"{shape.gpus} GPU{'s' if shape.gpus > 1 else ''} of one node"
    if len(shape.sizes) == 1:
        return f"1 slice of {shape.sizes[0]} node{'s' if shape.sizes[0] > 1 else ''}, whole in one domain"
    return f"{len(shape.sizes)} slices of {'+'.join(map(str, shape.sizes))} nodes, each whole in one domain"
