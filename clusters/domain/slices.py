"""How a request is cut into slices. Every path (page, API, command, trace) sizes by these functions."""

from __future__ import annotations

from collections.abc import Sequence

from clusters.domain.errors import InvalidRequest
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.topology import Topology


def auto_slice(domain_size: int) -> int:
    """Nodes of a slice in a domain of `domain_size` nodes when the policy says auto: one in nine stays as a spare (16 of 18)."""
    return 1 if domain_size <= 1 else domain_size - max(1, round(domain_size / 9))


def least_slice(usual: int) -> int:
    """The fewest nodes of a slice that is worth advising where the usual one has so many: half of them."""
    return -(-usual // 2)


def cluster_slice(topology: Topology, policy: Policy) -> int:
    """The most nodes a slice may have in this cluster, taken for its usual domain."""
    return policy.slice_size or auto_slice(topology.usual_size)


def domain_slice(domain_size: int, policy: Policy) -> int:
    """The slice size by which one domain's free nodes are counted."""
    return policy.slice_size or auto_slice(domain_size)


def whole_nodes(request: JobRequest, gpus_per_node: int) -> int:
    """Whole nodes the request takes; 0 when it stays below a node and shares one."""
    if request.nodes is not None:
        return request.nodes
    gpus = request.gpus or 0
    return 0 if gpus < gpus_per_node else -(-gpus // gpus_per_node)


def slice_sizes(request: JobRequest, nodes: int, policy_size: int, unit: int | None = None) -> tuple[int, ...]:
    """Sizes of the slices for `nodes` whole nodes, larger first; raises InvalidRequest where the request cannot be cut.

    Without a unit: k = ceil(nodes / size) slices that differ by at most one node. With a unit the same in units; it is `slice_size` unless
    one is given, which stands for what the request means by it: the whole groups of its plan.
    """
    size = min(policy_size, request.max_slice or policy_size)
    name = "slice_size" if request.slice_size or unit is None else "the nodes of whole TP x EP groups"
    unit = unit or request.slice_size or 1
    if request.max_slice is not None and unit > request.max_slice:
        raise InvalidRequest("max_slice", request.max_slice, f"give at least {name} ({unit}), or leave it out")
    rest = nodes % unit
    if rest and not request.tail:
        raise InvalidRequest("nodes", nodes, f"give a multiple of {name} ({unit}), or ask for a tail slice of {rest}")
    return (*_even(nodes // unit, max(size, unit) // unit, unit), *([rest] if rest else []))


def _even(units: int, per_slice: int, unit: int) -> list[int]:
    """As few slices as there can be, in nodes, that differ by at most one unit."""
    count = -(-units // per_slice)
    return [unit * (units // count + (number < units % count)) for number in range(count)]


def is_small(nodes: int, policy_size: int) -> bool:
    """Whether a request of `nodes` whole nodes (0: part of one) is work below a slice: it may not use the spares a domain owes."""
    return nodes < policy_size


def parts_of_slices(request: JobRequest, sizes: Sequence[int]) -> tuple[str, ...]:
    """The name of the part that each slice of a placed job belongs to, "" in a job without parts.

    The slices of a part lie side by side, in the order of the parts, and make up its nodes, whatever the policy was that they were cut by.
    """
    if not request.parts:
        return ("",) * len(sizes)
    names: list[str] = []
    parts = iter(request.parts)
    left = 0
    for size in sizes:
        if not left:
            part = next(parts)
            left = part.nodes
        names.append(part.name)
        left -= size
    return tuple(names)
