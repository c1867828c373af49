"""How a fleet is drawn: blocks, racks and nodes in natural order, each rack a contiguous range of draw indexes.

Draw indexes are not the dense node indexes of the topology: where a domain spans racks, its nodes are apart here. Browsers hold their
state by draw index, so a frame is only right for the layout it was made for. The epoch names that layout, and the log below it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass

import msgspec

from clusters.domain.state import ClusterState
from clusters.domain.topology import Topology, natural_key

EPOCH_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RackSpan:
    """One rack and its nodes, `first` to `first + count - 1`; an empty rack has none."""

    name: str
    block: int  # index of its block
    first: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The order of one inventory generation."""

    topology: Topology  # the one it was made from
    blocks: tuple[str, ...]
    racks: tuple[RackSpan, ...]
    nodes: tuple[str, ...]  # names by draw index
    domains: tuple[str, ...]  # names of the known domains
    node_domain: tuple[int, ...]  # draw index -> index of its domain, -1 where it is unknown
    draw: tuple[int, ...]  # dense node index -> draw index

    def rack(self, name: str) -> RackSpan | None:
        """The rack of that name, if there is one."""
        return next((rack for rack in self.racks if rack.name == name), None)

    def epoch(self, log_epoch: str) -> str:
        """The same for every process that draws the same log in the same order, and different for all others."""
        racks = [(rack.name, rack.block, rack.count) for rack in self.racks]
        content = msgspec.json.encode((log_epoch, self.blocks, racks, self.nodes, self.domains, self.node_domain))
        return hashlib.blake2b(content, digest_size=EPOCH_BYTES).hexdigest()


def lay_out(state: ClusterState) -> Layout:
    """Order the present inventory."""
    topology = state.topology
    by_rack: dict[str, list[int]] = defaultdict(list)
    for dense, site in enumerate(topology.nodes):
        by_rack[site.rack].append(dense)
    block_of = {rack.name: rack.block for rack in state.racks.values()}
    names = sorted(block_of.keys() | by_rack.keys(), key=lambda name: (natural_key(block_of.get(name, "")), natural_key(name)))
    blocks = tuple(dict.fromkeys(block_of.get(name, "") for name in names))
    order: list[int] = []
    racks: list[RackSpan] = []
    for name in names:
        members = sorted(by_rack[name], key=lambda dense: natural_key(topology.nodes[dense].name))
        racks.append(RackSpan(name=name, block=blocks.index(block_of.get(name, "")), first=len(order), count=len(members)))
        order.extend(members)
    draw = [0] * len(order)
    for place, dense in enumerate(order):
        draw[dense] = place
    domains = tuple(topology.domain_index)
    number = {topology.domain_index[name]: index for index, name in enumerate(domains)}
    return Layout(
        topology=topology,
        blocks=blocks,
        racks=tuple(racks),
        nodes=tuple(topology.nodes[dense].name for dense in order),
        domains=domains,
        node_domain=tuple(number.get(topology.domain_of[dense], -1) for dense in order),
        draw=tuple(draw),
    )
