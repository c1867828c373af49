"""What a request asks of placement, cut into slices and resolved against a cluster and its policy.

A request says "32 nodes"; its shape says "two slices of 16 that want two spares each". Equal shapes get equal answers from the same space.
Sizes come from `clusters.domain.slices` and from nowhere else, levels from the topology.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from clusters.domain.constraints import JobPart, Layer, LevelMode, ParallelPlan
from clusters.domain.decision import Refusal
from clusters.domain.errors import InvalidRequest
from clusters.domain.jobs import JobKind, JobRequest
from clusters.domain.policy import Policy
from clusters.domain.slices import cluster_slice, is_small, slice_sizes, whole_nodes
from clusters.domain.topology import Topology
from scheduling.domain.levels import DOMAIN, NODE, layer_levels, placing_level, whole_domains
from scheduling.domain.parallelism.check import check_plan, unit_nodes
from scheduling.domain.refusals import infeasible

#: What of a request its placement depends on.
Asked = tuple[int | str | bool | LevelMode | tuple[Layer, ...] | tuple[JobPart, ...] | ParallelPlan | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartShape:
    """One part of a job, or the whole of one that has none, as placement sees it."""

    name: str = ""
    sizes: tuple[int, ...]  # nodes of each slice in rank order, larger first inside each run; (1,) for work below a node
    level: str = ""  # that the slices should lie in one group of; "" where any place does, or one slice lies in one group anyway
    mode: LevelMode = LevelMode.ANY  # any where level is ""
    layers: tuple[Layer, ...] = ()  # outermost first: each run of so many nodes, in rank order, lies in one group of the level

    @property
    def nodes(self) -> int:
        """Nodes of all slices together."""
        return sum(self.sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape(PartShape):
    """A whole request: its slices, and what must or should stay free beside them."""

    gpus: int  # of one node, for work below a node; 0 = whole nodes
    small: bool  # work below a slice: the spares that a domain owes are not for it
    spares: int  # nodes that each of its domains should keep free for it; work on one node wants none
    floor: int  # nodes that each of its domains must keep free
    exclusive: bool = False  # only domains without other work
    parts: tuple[PartShape, ...] = ()  # in the order of the request; `sizes` are theirs, one after the other


def asked_of(request: JobRequest) -> Asked:
    """All that the answer to a request depends on, beside space, policy and time.

    Requests that are alike in this get the same shape in the same cluster under the same policy, so they are placed, or refused, alike; who
    asks, how urgent it is and how long it runs are not in it. Hashable and comparable with that of any other request; it costs half a
    microsecond to make and more to hash, so whoever needs it often keeps it.
    """
    return (
        request.nodes,
        request.gpus,
        request.slice_size,
        request.max_slice,
        request.tail,
        request.spares,
        request.level,
        request.mode,
        request.layers,
        request.exclusive,
        request.parts,
        request.plan,
    )


def shape_of(topology: Topology, request: JobRequest, policy: Policy) -> Shape | Refusal:
    """The whole request's shape; refused where it cannot be cut, or names what is not there."""
    nodes = whole_nodes(request, topology.usual_gpus)
    size = cluster_slice(topology, policy)
    try:
        parts = tuple(_parts(topology, request, size)) if request.parts else ()
        whole = _together(topology, request, parts) if parts else _whole(topology, request, nodes, size)
    except InvalidRequest as error:
        return infeasible(error.field, str(error.value), error.expected)
    return _shape(topology, request, policy, whole, parts)


def may_borrow(policy: Policy, request: JobRequest) -> bool:
    """Whether the work may run on spares: it can be stopped at any time, and holds whole nodes."""
    interactive = request.kind is JobKind.INTERACTIVE and not policy.interactive_preemptible
    return policy.lending and request.restartable and not request.exclusive and not interactive


def slice_shape(topology: Topology, request: JobRequest, policy: Policy, size: int) -> Shape:
    """The shape of one slice of a job that runs; the job keeps its slices, whatever the policy has become."""
    level = inner_level(topology, request)
    whole = PartShape(sizes=(size,), level=level, mode=request.mode) if level and size > 1 else PartShape(sizes=(size,))
    return _shape(topology, request, policy, whole)


def inner_level(topology: Topology, request: JobRequest) -> str:
    """The level inside the domain that all nodes of the job must lie in one group of; "" for none."""
    known = request.mode is LevelMode.REQUIRED and not request.parts and request.level in topology.levels
    return request.level if known and request.level != NODE and request.level not in topology.group_of else ""


def _shape(topology: Topology, request: JobRequest, policy: Policy, whole: PartShape, parts: tuple[PartShape, ...] = ()) -> Shape:
    nodes = whole_nodes(request, topology.usual_gpus)
    wanted = policy.target_spares if request.spares is None else request.spares
    return Shape(
        sizes=whole.sizes,
        level=whole.level,
        mode=whole.mode,
        layers=whole.layers,
        gpus=0 if nodes else request.gpus or 0,
        small=is_small(nodes, cluster_slice(topology, policy)),
        spares=wanted if nodes > 1 else 0,
        floor=policy.min_spares if nodes > 1 else 0,
        exclusive=request.exclusive,
        parts=parts,
    )


def _whole(topology: Topology, request: JobRequest, nodes: int, size: int) -> PartShape:
    """The slices of a request without parts; raises InvalidRequest."""
    layers = layer_levels(topology, request.layers)
    level, mode = placing_level(topology, "level", request.level, request.mode, nodes)
    if layers:
        whole_domains(topology, "level", level)
    if not nodes:
        _check_plan(request, 1, request.gpus or 0, (1,))
        return PartShape(sizes=(1,))
    gpus = topology.usual_gpus
    unit = unit_nodes(request.plan, gpus) if request.plan and not request.slice_size and gpus else None
    sizes = _layered(request, nodes, size, unit) if layers else slice_sizes(request, nodes, size, unit)
    _check_plan(request, nodes, gpus, sizes)
    if layers and layers[-1].level == DOMAIN and layers[-1].size == sizes[0]:
        layers = layers[:-1]  # a slice lies in one domain anyway
    if len(sizes) > 1:
        return PartShape(sizes=sizes, level=level, mode=mode, layers=layers)
    return PartShape(sizes=sizes) if level in topology.group_of else PartShape(sizes=sizes, level=level, mode=mode)


def _check_plan(request: JobRequest, nodes: int, gpus_per_node: int, sizes: tuple[int, ...]) -> None:
    problem = check_plan(request.plan, nodes, gpus_per_node, sizes) if request.plan and gpus_per_node else None
    if problem is not None:
        raise InvalidRequest(problem.field, problem.value, problem.expected)


def _layered(request: JobRequest, nodes: int, size: int, unit: int | None) -> tuple[int, ...]:
    """Every run of the innermost layer is cut alike; what is left over is a tail, where one is asked for. Raises InvalidRequest."""
    outer, inner = request.layers[0].size, request.layers[-1].size
    if nodes % outer and not request.tail:
        raise InvalidRequest("nodes", nodes, f"give a multiple of the outermost layer ({outer}), or ask for a tail of {nodes % outer}")
    if inner % (unit or 1):
        last = len(request.layers) - 1
        raise InvalidRequest(f"layers[{last}].size", inner, f"give a multiple of the {unit} nodes that whole TP x EP groups fill")
    sizes = slice_sizes(request, inner, size, unit) * (nodes // inner)
    return sizes + slice_sizes(request, nodes % inner, size, unit) if nodes % inner else sizes


def _parts(topology: Topology, request: JobRequest, size: int) -> Iterator[PartShape]:
    """The parts, each cut by its own sizes; what it does not say it has from the job. Raises InvalidRequest."""
    for field in ("layers", "plan"):
        if getattr(request, field):
            raise InvalidRequest(field, "given", "leave it out for a job with parts; each part has its own slice_size and level")
    for place, part in enumerate(request.parts):
        own = replace(
            request,
            nodes=part.nodes,
            gpus=None,
            parts=(),
            slice_size=part.slice_size or request.slice_size,
            max_slice=part.max_slice or request.max_slice,
        )
        try:
            sizes = slice_sizes(own, part.nodes, size)
            level, mode = placing_level(topology, "level", part.level, part.mode, part.nodes)
            whole_domains(topology, "level", level)
        except InvalidRequest as error:
            raise InvalidRequest(f"parts[{place}].{error.field}", error.value, error.expected) from None
        yield PartShape(name=part.name, sizes=sizes, level=level, mode=mode)


def _together(topology: Topology, request: JobRequest, parts: tuple[PartShape, ...]) -> PartShape:
    """What the parts must keep to as one job; raises InvalidRequest."""
    sizes = tuple(size for part in parts for size in part.sizes)
    level, mode = placing_level(topology, "level", request.level, request.mode, sum(sizes))
    whole_domains(topology, "level", level)
    return PartShape(sizes=sizes, level=level, mode=mode)
