"""Racks and nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from clusters.domain.books_of import domain_uses, holder_of
from clusters.domain.errors import UnknownSubject
from clusters.domain.fabric import fabric_of
from clusters.domain.racks import OPEN, Rack
from clusters.domain.state import ClusterState, Node
from frontend.live.layout import RackSpan
from frontend.selectors.clusters import layout_of, now_of
from scheduling.domain.rack_states import jobs_on, last_end


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one source says of a node."""

    flag: str
    source: str
    since_us: int
    reason: str = ""
    owner: str = ""  # of a quarantine
    exit_rule: str = ""  # of a quarantine
    evidence: tuple[str, ...] = ()


class NodeFacts(msgspec.Struct, frozen=True):
    """One node."""

    name: str
    rack: str
    block: str
    domain: str | None  # None: not known, a data error
    gpus: int
    gpus_used: int
    product: str
    condition: str
    use: str
    job: str  # the job that holds it, or the first of those that share it; "" for none
    jobs: list[str]  # all of them
    problem: str  # why it can take no work, in words; "" when all is well
    marks: list[Mark]
    evidence: tuple[str, ...]  # abnormal conditions that the inventory's source reported
    failures: int  # since it was registered
    unchecked_since_us: int | None  # cluster time at which it was repaired, while it waits for its check and takes no work


class LostChip(msgspec.Struct, frozen=True):
    """A switch chip that carries nothing any more."""

    tray: int  # from 1, as drawn
    chip: int  # of the tray, from 1
    reason: str


class NvlinkFacts(msgspec.Struct, frozen=True):
    """What the switches of a rack carry: terabytes a second of all its GPUs, both directions together."""

    chips: int  # 0: its nodes are joined by no switches
    working: int
    full_tbs: float
    left_tbs: float
    lost: list[LostChip]


class ServiceFacts(msgspec.Struct, frozen=True):
    """Which work a rack takes."""

    state: str
    until_us: int | None  # cluster time at which its maintenance begins
    since_us: int | None  # cluster time
    reason: str
    by: str  # a person, or an incident
    jobs: int  # that have nodes in it
    empty_us: int  # cluster time at which the last of them will have left it, as far as limits and expectations tell


class RackFacts(msgspec.Struct, frozen=True):
    """One rack."""

    name: str
    block: str
    service: ServiceFacts
    domains: list[str]
    switch_trays: int
    nvlink: NvlinkFacts
    first: int  # draw index of its first node
    nodes: int
    condition: dict[str, int]  # nodes, only what there is
    use: dict[str, int]  # nodes, only what there is
    unchecked: int  # nodes, repaired, that wait for their check


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFilter:
    """Which nodes; "" means all."""

    block: str = ""
    rack: str = ""
    domain: str = ""
    condition: str = ""

    def takes(self, state: ClusterState, node: Node) -> bool:
        """Whether the node is one of these; its use is not looked at."""
        rack = state.racks.get(node.rack)
        pairs = (
            (self.block, rack.block if rack else ""),
            (self.rack, node.rack),
            (self.domain, node.domain),
            (self.condition, node.condition.value),
        )
        return all(wanted in ("", value) for wanted, value in pairs)


def racks_from(state: ClusterState, block: str, after: str) -> Iterator[RackFacts]:
    """Racks in the order in which they are drawn, of a block or of all, from behind one of them; raises UnknownSubject."""
    layout = layout_of(state)
    first = layout.racks.index(_span(state, after)) + 1 if after else 0
    for span in layout.racks[first:]:
        if block in ("", layout.blocks[span.block]):
            yield _rack_facts(state, span, uses_of(state, _domains_in(state, span)))


def rack_get(state: ClusterState, name: str) -> RackFacts:
    """One rack; raises UnknownSubject."""
    span = _span(state, name)
    return _rack_facts(state, span, uses_of(state, _domains_in(state, span)))


def rack_nodes(state: ClusterState, name: str) -> list[NodeFacts]:
    """The nodes of a rack from top to bottom; raises UnknownSubject."""
    span = _span(state, name)
    uses = uses_of(state, _domains_in(state, span))
    return [node_facts(state, state.nodes[node], uses[node]) for node in _names(state, span)]


def nodes_from(state: ClusterState, chosen: NodeFilter, use: str, after: str) -> Iterator[NodeFacts]:
    """Nodes in the order in which they are drawn, of one use or of all, from behind one of them; raises UnknownSubject."""
    layout, topology = layout_of(state), state.topology
    first = layout.draw[topology.index[_node(state, after).name]] + 1 if after else 0
    uses: dict[str, str] = {}
    for name in layout.nodes[first:]:
        node = state.nodes[name]
        if not chosen.takes(state, node):
            continue
        if name not in uses:  # a domain at a time, once it is known that one of its nodes is wanted
            uses |= uses_of(state, (topology.domain_of[topology.index[name]],))
        if use in ("", uses[name]):
            yield node_facts(state, node, uses[name])


def node_get(state: ClusterState, name: str) -> NodeFacts:
    """One node; raises UnknownSubject."""
    node = _node(state, name)
    domain = state.topology.domain_of[state.topology.index[name]]
    return node_facts(state, node, uses_of(state, (domain,))[name])


def uses_of(state: ClusterState, domains: Iterable[int]) -> dict[str, str]:
    """The use of each node of these domains."""
    topology = state.topology
    return {
        topology.nodes[dense].name: use.value
        for domain in domains
        for dense, use in enumerate(domain_uses(state, domain), topology.domains[domain].first)
    }


def node_facts(state: ClusterState, node: Node, use: str) -> NodeFacts:
    """All that is known of a node."""
    rack = state.racks.get(node.rack)
    shared = sum(mask.bit_count() for mask in node.shares.values())
    marks = [
        Mark(flag.value, source, mark.since, mark.reason, mark.owner, mark.exit_rule, mark.evidence)
        for (flag, source), mark in sorted(node.marks.items())
        if mark.on
    ]
    return NodeFacts(
        name=node.name,
        rack=node.rack,
        block=rack.block if rack else "",
        domain=node.domain,
        gpus=node.gpus,
        gpus_used=node.gpus if node.job else shared,
        product=node.product,
        condition=node.condition.value,
        use=use,
        job=holder_of(node),
        jobs=[node.job] if node.job else sorted(node.shares),
        problem=node.problem,
        marks=marks,
        evidence=node.evidence,
        failures=node.failures,
        unchecked_since_us=node.unchecked,
    )


def _node(state: ClusterState, name: str) -> Node:
    node = state.nodes.get(name)
    if node is None:
        raise UnknownSubject(f"there is no node {name!r} in cluster {state.name}")
    return node


def _span(state: ClusterState, name: str) -> RackSpan:
    span = layout_of(state).rack(name)
    if span is None:
        raise UnknownSubject(f"there is no rack {name!r} in cluster {state.name}")
    return span


def _names(state: ClusterState, span: RackSpan) -> tuple[str, ...]:
    return layout_of(state).nodes[span.first : span.first + span.count]


def _domains_in(state: ClusterState, span: RackSpan) -> list[int]:
    topology = state.topology
    return sorted({topology.domain_of[topology.index[name]] for name in _names(state, span)})


def _nvlink(rack: Rack | None, nodes: Iterable[Node]) -> NvlinkFacts:
    if rack is None:
        return NvlinkFacts(0, 0, 0.0, 0.0, [])
    fabric = fabric_of(rack, nodes)
    lost = [LostChip(tray, chip, reason) for (tray, chip), reason in sorted(rack.lost_chips.items())]
    return NvlinkFacts(fabric.chips, fabric.chips - fabric.lost, fabric.full_tbs, fabric.left_tbs, lost)


def _service(state: ClusterState, rack: str, names: Iterable[str]) -> ServiceFacts:
    service = state.racks[rack].service if rack in state.racks else OPEN
    jobs = jobs_on(state, (state.nodes[name] for name in names))
    return ServiceFacts(
        service.state.value, service.until, service.since, service.reason, service.by, len(jobs), last_end(state, jobs, now_of(state))
    )


def _rack_facts(state: ClusterState, span: RackSpan, uses: dict[str, str]) -> RackFacts:
    rack = state.racks.get(span.name)
    names = _names(state, span)
    domains = dict.fromkeys(state.nodes[name].domain for name in names)
    return RackFacts(
        name=span.name,
        block=rack.block if rack else "",
        domains=[domain for domain in domains if domain is not None],
        switch_trays=rack.switch_trays if rack else 0,
        service=_service(state, span.name, names),
        nvlink=_nvlink(rack, (state.nodes[name] for name in names)),
        first=span.first,
        nodes=span.count,
        condition=dict(Counter(state.nodes[name].condition.value for name in names)),
        use=dict(Counter(uses[name] for name in names)),
        unchecked=sum(state.nodes[name].unchecked is not None for name in names),
    )
