"""Slurm nodes laid over what is known: `scontrol show nodes --json` or slurmrestd's answer, and a topology file where there is one.

The block of the topology is the node's rack and domain. A node that is in none keeps the rack and domain it was given earlier: Slurm drops
nodes from blocks when it powers them down, and a node that is off has not left its rack. A node that never had one is a domain of its own
where its GPUs show that NVLink ends at the node (HGX), else a data error: no slice may count on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clusters.domain.topology import natural_key
from clusters.inventory.fields import shape
from clusters.inventory.model import Inventory, InventoryNode, InventoryRack, Known, Options, Problem, fatal, note
from clusters.inventory.names import fold, plain
from clusters.inventory.node_facts import NodeFacts
from clusters.inventory.places import SWITCH_TRAYS
from clusters.inventory.racks import BY_BLOCK, DEFAULT_BLOCK
from clusters.inventory.slurm_nodes import SlurmReader
from clusters.inventory.slurm_topology import AGGREGATE, FILE, Topology, read_topology
from clusters.inventory.sorting import counted, given_once, left_out, shortened, with_known_gpus

#: No rack-scale node has as many GPUs: NVL72 and NVL36 have four or two in a node.
HGX_GPUS = 8

UNPLACED = "NVLink domain unknown, so never part of a slice"
NO_FILE = f"{UNPLACED}: no topology file is given; give topology.yaml or topology.conf, with the rack of each node as a block"
NO_BLOCK = f"{UNPLACED}: no block of the topology has it; add it to the block of its rack"
ONLY_TREE = f"{UNPLACED}: a tree of switches tells no NVLink; give a block topology, with the rack of each node as a block"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmSource:
    """Nodes that Slurm printed, each read by itself."""

    nodes: tuple[NodeFacts, ...]
    problems: tuple[Problem, ...]
    topology: Topology | None

    def inventory(self, known: Known) -> Inventory:
        """Lay the nodes over what is known of racks and domains."""
        if any(problem.fatal for problem in self.problems):
            return Inventory(problems=self.problems)
        real = [with_known_gpus(node, known) for node in self.nodes]
        kept = [node for node in real if node.gpus]
        problems = [*self.problems, *left_out("without GPUs", (node.name for node in real if not node.gpus))]
        if not kept:
            message = f"none of the {len(self.nodes)} nodes has a GPU in gres or tres; give the GPU nodes"
            return Inventory(problems=(*problems, fatal("", "", message)))
        placing = _Placing(kept, self.topology, known)
        return Inventory(nodes=placing.nodes(), racks=placing.racks(), problems=(*problems, *placing.told()))


def is_slurm(document: object) -> bool:
    """Whether a document is what Slurm says of nodes."""
    nodes = document.get("nodes") if isinstance(document, dict) and "kind" not in document else None
    if not isinstance(document, dict) or not isinstance(nodes, list) or not nodes:
        return False
    return (
        "meta" in document or "last_update" in document or any(isinstance(item, dict) and {"name", "gres"} <= item.keys() for item in nodes)
    )


def slurm_source(documents: Sequence[object], options: Options) -> SlurmSource:
    """Read each node, and the topology file."""
    reader = SlurmReader()
    for number, document in enumerate(documents, start=1):
        reader.problems.extend(_errors(f"document {number}", document))
    nodes, repeated = given_once((reader.read(position, item) for position, item in _items(documents)), reader.problems)
    unheard = tuple(
        note("", state, f"this state of {count} nodes is not known to this program, and decides nothing")
        for state, count in reader.unheard.items()
    )
    labels = tuple(
        note("", key, "Slurm nodes have no labels; name racks and domains in a topology file")
        for key in (options.rack_label, options.domain_label)
        if key is not None
    )
    topology = read_topology(options.topology) if options.topology is not None else None
    of_file = topology.problems if topology else ()
    future = left_out("of the configuration only (FUTURE)", reader.future)
    return SlurmSource(nodes=nodes, problems=(*reader.problems, *of_file, *unheard, *labels, *future, *repeated), topology=topology)


def _errors(position: str, document: object) -> Iterator[Problem]:
    """A list that Slurm could not complete would make nodes absent."""
    errors = document.get("errors") if isinstance(document, dict) else None
    for error in errors if isinstance(errors, list) else []:
        told = next((error[key] for key in ("description", "error") if error.get(key)), error) if isinstance(error, dict) else error
        yield fatal(position, "", f"Slurm answered with an error ({plain(str(told), 120)}); ask again until there is none")


def _items(documents: Sequence[object]) -> Iterator[tuple[str, object]]:
    for number, document in enumerate(documents, start=1):
        nodes = document.get("nodes") if isinstance(document, dict) else None
        if isinstance(nodes, list):
            yield from ((f"document {number}, node {index}", item) for index, item in enumerate(nodes, start=1))
        elif document is not None:
            yield f"document {number}", shape(document)


class _Placing:
    """Finds the rack, block and domain of each node; collects what is to be told."""

    def __init__(self, nodes: Sequence[NodeFacts], topology: Topology | None, known: Known) -> None:
        self._facts = sorted(nodes, key=lambda node: natural_key(node.name))
        self._topology = topology or Topology()
        self._given = topology is not None
        self._known = known
        self._lacking: dict[str, list[str]] = defaultdict(list)  # what is wrong -> nodes
        self._kept: list[str] = []
        self._placed = [self._place(node) for node in self._facts]

    def nodes(self) -> tuple[InventoryNode, ...]:
        return tuple(sorted(self._placed, key=lambda node: (natural_key(node.rack), natural_key(node.name))))

    def racks(self) -> tuple[InventoryRack, ...]:
        """The racks that have nodes."""
        joined = {placed.rack for node, placed in zip(self._facts, self._placed, strict=True) if _joined(node, placed)}
        groups = self._groups()
        found = sorted({node.rack for node in self._placed}, key=natural_key)
        return tuple(
            InventoryRack(
                name=rack,
                block=self._block(rack, groups),
                switch_trays=self._trays(rack, joined),
                fabric_gbps=self._known.fabric_gbps(rack),
            )
            for rack in found
        )

    def told(self) -> Iterator[Problem]:
        """What is wrong with the nodes' places, the nodes folded."""
        for lack, names in self._lacking.items():
            yield note("", shortened(fold(names)), f"{counted(names)}: {lack}")
        if self._kept and self._given:
            message = f"{counted(self._kept)} in no block of the topology any more: the rack and domain of earlier are kept"
            yield note(FILE, shortened(fold(self._kept)), message)
        present = {node.name for node in self._facts}
        missing = [name for name, place in self._topology.places.items() if place.domain and name not in present]
        if missing:
            yield note(FILE, shortened(fold(missing)), f"{counted(missing)} in the topology, but not among Slurm's GPU nodes")

    def _place(self, node: NodeFacts) -> InventoryNode:
        place, before = self._topology.places.get(node.name), self._known.nodes.get(node.name)
        rack = place.rack if place else before.rack if before else f"{BY_BLOCK}{DEFAULT_BLOCK}"
        domain, lack = (place.domain, "") if place and place.domain else self._domain(node)
        return InventoryNode(
            name=node.name,
            rack=rack,
            domain=domain,
            gpus=node.gpus,
            position=node.position,
            product=node.product,
            problem=lack,
            evidence=node.evidence,
            flags=node.flags,
        )

    def _domain(self, node: NodeFacts) -> tuple[str | None, str]:
        """The domain of a node that is in no block, or None and why there is none."""
        before = self._known.nodes.get(node.name)
        if before is not None and before.domain not in (None, node.name):
            self._kept.append(node.name)
            return before.domain, ""
        if _is_hgx(node):
            return node.name, ""
        lack = NO_FILE if not self._given else ONLY_TREE if node.name in self._topology.places else NO_BLOCK
        self._lacking[lack].append(node.name)
        return None, lack

    def _groups(self) -> Mapping[str, str]:
        """The block of each rack of the topology.

        Slurm counts blocks by their place in the file. While a rack that was there is missing from it, all behind it would slip into
        other groups, so the known racks stay where they are and new ones join their neighbours.
        """
        told, racks = self._topology.blocks, self._known.racks
        placed = {node.name: node.rack for node in self._placed}
        held = {placed.get(name, node.rack) for name, node in self._known.nodes.items()} | {*placed.values()}
        before = {rack: racks[rack].block for rack in held & racks.keys() if racks[rack].block.startswith(AGGREGATE)}
        if before.keys() <= told.keys():
            return told
        kept: dict[str, str] = {}
        for rack, group in told.items():
            if rack in before:
                kept.setdefault(group, before[rack])
        return {rack: before.get(rack) or kept.get(group, group) for rack, group in told.items()}

    def _block(self, rack: str, groups: Mapping[str, str]) -> str:
        known = self._known.racks.get(rack)
        return groups.get(rack) or (known.block if known else DEFAULT_BLOCK)

    def _trays(self, rack: str, joined: set[str]) -> int:
        known = self._known.racks.get(rack)
        return SWITCH_TRAYS if rack in joined else known.switch_trays if known else 0


def _is_hgx(node: NodeFacts) -> bool:
    """Whether NVLink ends at the node: by its type, or because it has more GPUs than a node of a rack."""
    return not node.rack_scale and (bool(node.product) or node.gpus >= HGX_GPUS)


def _joined(node: NodeFacts, placed: InventoryNode) -> bool:
    """Whether the node hangs on the switch trays of its rack."""
    return placed.domain not in (None, node.name) and not _is_hgx(node)
