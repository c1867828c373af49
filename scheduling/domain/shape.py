"""What a request asks of placement, cut into slices and resolved against a cluster and its policy.

A request says "32 nodes"; its shape says "two slices of 16 that want two spares each". Equal shapes get equal answers from the same space.
Sizes come from `clusters.domain.slices` and from nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

from clusters.domain.decision import Refusal
from clusters.domain.errors import InvalidRequest
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.slices import cluster_slice, is_small, slice_sizes, whole_nodes
from clusters.domain.topology import Topology
from scheduling.domain.refusals import infeasible

#: What of a request its placement depends on.
Asked = tuple[int | None, int | None, int | None, int | None, bool, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Sizes of slices, and what must or should stay free beside them."""

    sizes: tuple[int, ...]  # nodes of each slice, larger first; (1,) for work below a node
    gpus: int  # of one node, for work below a node; 0 = whole nodes
    small: bool  # work below a slice: the spares that a domain owes are not for it
    spares: int  # nodes that each of its domains should keep free for it; work on one node wants none
    floor: int  # nodes that each of its domains must keep free

    @property
    def nodes(self) -> int:
        """Nodes of all slices together."""
        return sum(self.sizes)


def asked_of(request: JobRequest) -> Asked:
    """Requests that are alike in this are placed, or refused, alike."""
    return (request.nodes, request.gpus, request.slice_size, request.max_slice, request.tail, request.spares)


def shape_of(topology: Topology, request: JobRequest, policy: Policy) -> Shape | Refusal:
    """The whole request's shape; refused where it cannot be cut as it asks."""
    nodes = whole_nodes(request, topology.usual_gpus)
    if not nodes:
        return _shape(topology, request, policy, (1,))
    try:
        sizes = slice_sizes(request, nodes, cluster_slice(topology, policy))
    except InvalidRequest as error:
        return infeasible(error.field, str(error.value), error.expected)
    return _shape(topology, request, policy, sizes)


def slice_shape(topology: Topology, request: JobRequest, policy: Policy, size: int) -> Shape:
    """The shape of one slice of a job that runs; the job keeps its slices, whatever the policy has become."""
    return _shape(topology, request, policy, (size,))


def _shape(topology: Topology, request: JobRequest, policy: Policy, sizes: tuple[int, ...]) -> Shape:
    nodes = whole_nodes(request, topology.usual_gpus)
    wanted = policy.target_spares if request.spares is None else request.spares
    return Shape(
        sizes=sizes,
        gpus=0 if nodes else request.gpus or 0,
        small=is_small(nodes, cluster_slice(topology, policy)),
        spares=wanted if nodes > 1 else 0,
        floor=policy.min_spares if nodes > 1 else 0,
    )
