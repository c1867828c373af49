"""Kubernetes nodes laid over what is known: the rack, block and domain of each, and why a node cannot be placed.

The domain of a node is its clique, or the label the user names. A node whose product joins a rack by NVLink, or whose rack mates have a
clique, but that has none itself, is a data error: no slice may count on it. Any other node is a domain of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from clusters.domain.topology import natural_key
from clusters.inventory.labels import CLIQUE, Fabric, fabric_of
from clusters.inventory.model import Inventory, InventoryNode, InventoryRack, Known, Options, Problem, note
from clusters.inventory.names import plain
from clusters.inventory.node_facts import NodeFacts
from clusters.inventory.racks import BY_BLOCK, RackDrawing, blocks_of, two_fabrics

#: NVL72, NVL36 and GH200 NVL32 racks all have nine; HGX nodes have their switches inside.
SWITCH_TRAYS = 9


def place_nodes(nodes: Sequence[NodeFacts], options: Options, known: Known) -> Inventory:
    """Give each node its rack and domain."""
    fabrics = {node.name: fabric_of(node.labels.get(CLIQUE)) for node in nodes}
    uuids = {name: fabric.uuid for name, fabric in fabrics.items()}
    drawing = RackDrawing(nodes, uuids, options, known)
    blocks, block_problems = blocks_of(nodes, drawing.racks, known)
    domains = _Domains(nodes, fabrics, drawing, options, known)
    placed = [domains.place(node) for node in nodes]
    racks = [
        InventoryRack(
            name=name,
            block=block,
            switch_trays=_switch_trays(name, domains.nvlink_racks, known),
            fabric_gbps=known.fabric_gbps(name),
        )
        for name, block in blocks.items()
    ]
    return Inventory(
        nodes=tuple(sorted(placed, key=lambda node: (natural_key(node.rack), natural_key(node.name)))),
        racks=tuple(sorted(racks, key=lambda rack: natural_key(rack.name))),
        problems=(*drawing.problems, *block_problems, *domains.problems),
    )


class _Domains:
    """Finds the domain of each node; collects what is wrong."""

    def __init__(
        self, nodes: Sequence[NodeFacts], fabrics: dict[str, Fabric], drawing: RackDrawing, options: Options, known: Known
    ) -> None:
        self.problems: list[Problem] = []
        self.nvlink_racks: set[str] = set()  # racks with switch trays
        self._clique_racks: set[str] = set()
        self._fabrics = fabrics
        self._drawing = drawing
        self._label = options.domain_label
        self._known = known
        self._struck = self._strike(nodes)
        for node in nodes:
            rack = drawing.racks[node.name]
            if fabrics[node.name].uuid:
                self._clique_racks.add(rack)
            if fabrics[node.name].uuid or (node.rack_scale and not rack.startswith(BY_BLOCK)):
                self.nvlink_racks.add(rack)

    def place(self, node: NodeFacts) -> InventoryNode:
        """The node with its rack, its domain and what is wrong with it."""
        domain, lack = self._domain(node)
        if lack:
            self.problems.append(note(node.position, node.name, lack))
        return InventoryNode(
            name=node.name,
            rack=self._drawing.racks[node.name],
            domain=domain,
            gpus=node.gpus,
            position=node.position,
            product=node.product,
            problem=plain(lack),
            evidence=node.evidence,
            flags=node.flags,
        )

    def _domain(self, node: NodeFacts) -> tuple[str | None, str]:
        """The domain, or None and why there is none."""
        named = node.labels.get(self._label) if self._label else None
        if named and named not in self._struck:
            return named, ""
        fabric = self._fabrics[node.name]
        if fabric.uuid:
            return node.labels[CLIQUE], ""
        before = self._known.nodes.get(node.name)
        if before is not None and before.domain and CLIQUE not in node.labels and not node.answers:
            return before.domain, ""  # it lost its labels with its connection, not its place
        if not self._needs_clique(node):
            return node.name, ""
        wanted = "<ClusterUUID>.<CliqueID>, set once the node's fabric state is Completed"
        return None, f"NVLink domain unknown, so never part of a slice: {fabric.lack}; it should be {wanted}"

    def _needs_clique(self, node: NodeFacts) -> bool:
        if node.rack_scale or self._fabrics[node.name].malformed:
            return True
        if self._drawing.racks[node.name] in self._clique_racks:
            return True
        before = self._known.nodes.get(node.name)
        return not node.product and before is not None and (before.domain is None or fabric_of(before.domain).uuid is not None)

    def _strike(self, nodes: Sequence[NodeFacts]) -> set[str]:
        """Values of the named label that would let a slice leave its NVLink fabric."""
        if self._label is None:
            return set()
        struck = two_fabrics(nodes, {name: fabric.uuid for name, fabric in self._fabrics.items()}, {self._label: None})
        for (key, value), uuids in struck.items():
            message = f"this value covers {len(uuids)} NVLink fabrics ({', '.join(uuids)}) and is no domain; the clique is taken"
            self.problems.append(note("", f"{key}={value}", message))
        return {value for _, value in struck}


def _switch_trays(rack: str, nvlink_racks: set[str], known: Known) -> int:
    if rack in nvlink_racks:
        return SWITCH_TRAYS
    return known.racks[rack].switch_trays if rack in known.racks else 0
