"""The native inventory: a short YAML that a person can write, with ranges of nodes and values that are inherited inwards.

    kind: SlicekeeperInventory
    gpus: 4                      # of each node; may be said anew in a block, rack or group
    product: NVIDIA-GB200
    fabric_gbps: 400             # of each GPU's own port to the network
    blocks:
    - name: su1
      racks:
      - {name: r01, nodes: "r01-n[01-18]"}
      - name: r02
        nodes:
        - {names: "r02-n[01-09]", domain: r02-a}
        - {names: "r02-n[10-18]", domain: r02-b}
    states:
    - {nodes: r01-n07, state: quarantined, reason: Xid 95}

Racks may also stand at the top with `block: NAME` each. A rack is one domain of the same name unless `domain` says otherwise: a name (the
same one in two racks makes one domain over both), `each-node` (HGX: every node is its own), or null with a `problem` (not known).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clusters.domain.health import Flag
from clusters.domain.topology import natural_key
from clusters.inventory.fields import Fields
from clusters.inventory.model import Inventory, InventoryNode, InventoryRack, Known, Options, Problem, fatal, note
from clusters.inventory.names import MAX_NODES
from clusters.inventory.node_facts import MAX_GPUS, in_order
from clusters.inventory.places import SWITCH_TRAYS
from clusters.inventory.racks import DEFAULT_BLOCK

KIND = "SlicekeeperInventory"
VERSION = 1
EACH_NODE = "each-node"
UNKNOWN_DOMAIN = "NVLink domain unknown, so never part of a slice"
DEFAULT_REASON = "said in the inventory"
MAX_TRAYS = 64
MAX_GBPS = 100_000

STATES = {flag.value: flag for flag in Flag if flag not in (Flag.ABSENT, Flag.IN_REPAIR)}

_INHERITED = ("gpus", "product", "domain", "switch_trays", "fabric_gbps")
_TOP = ("kind", "version", "blocks", "racks", "states", *_INHERITED)
_BLOCK = ("name", "racks", *_INHERITED)
_RACK = ("name", "block", "nodes", *_INHERITED)
_GROUP = ("names", "gpus", "product", "domain", "problem", "evidence")
_STATE = ("nodes", "state", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inherited:
    """What an outer level says of all nodes inside it."""

    gpus: int | None = None
    product: str = ""
    domain: str | None = ""  # "": one per rack, named like it; None: unknown
    switch_trays: int | None = None
    fabric_gbps: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeSource:
    """A native file; it says everything itself, so nothing that is known changes it."""

    read: Inventory

    def inventory(self, known: Known) -> Inventory:
        """What the file says."""
        return self.read


def native_source(documents: Sequence[object], options: Options) -> NativeSource:
    """Read all documents as one inventory."""
    reading = _Reading()
    for number, document in enumerate(documents, start=1):
        if document is not None:
            reading.document(Fields(f"document {number}", document, reading.problems))
    for key in (options.rack_label, options.domain_label):
        if key is not None:
            reading.problems.append(note("", key, "a native inventory has no labels; name racks and domains in the file"))
    return NativeSource(read=reading.inventory())


class _Reading:
    """Collects nodes, racks, states and problems over all documents."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._nodes: dict[str, InventoryNode] = {}
        self._racks: dict[str, tuple[str, Inherited]] = {}  # name -> (block, what is told of all of it)
        self._states: dict[str, dict[Flag, str]] = {}

    def document(self, top: Fields) -> None:
        top.only(_TOP)
        version = top.number("version", 1, 1_000_000)
        if version not in (None, VERSION):
            top.refuse(f"version is {version}; this program reads version {VERSION}")
        inherited = self._inherit(top, Inherited())
        for block in top.entries("blocks", "block"):
            block.only(_BLOCK)
            name = block.required_name("name")
            inner = self._inherit(block, inherited)
            for rack in block.entries("racks", "rack"):
                self._rack(rack, inner, name)
        for rack in top.entries("racks", "rack"):
            self._rack(rack, inherited, rack.name("block") or DEFAULT_BLOCK)
        for state in top.entries("states", "state"):
            self._state(state)

    def inventory(self) -> Inventory:
        """All that was read; nothing but problems where one of them is fatal."""
        for name in self._states.keys() - self._nodes.keys():
            self.problems.append(fatal("", name, "states names this node, but no rack has it; give a node of the file"))
        if not self._nodes:
            self.problems.append(fatal("", "", "the file names no nodes; give racks with nodes, like {name: r01, nodes: 'r01-n[01-18]'}"))
        if len(self._nodes) > MAX_NODES:
            self.problems.append(fatal("", "", f"the file has {len(self._nodes):,} nodes; give at most {MAX_NODES:,}"))
        problems = tuple(self.problems)
        if any(problem.fatal for problem in problems):
            return Inventory(problems=problems)
        nodes = [replace(node, flags=in_order(self._states.get(node.name, {}))) for node in self._nodes.values()]
        return Inventory(
            nodes=tuple(sorted(nodes, key=lambda node: (natural_key(node.rack), natural_key(node.name)))),
            racks=tuple(sorted(self._registered(nodes), key=lambda rack: natural_key(rack.name))),
            problems=problems,
        )

    def _rack(self, rack: Fields, outer: Inherited, block: str) -> None:
        rack.only(_RACK)
        name = rack.required_name("name")
        inherited = self._inherit(rack, outer)
        if name in self._racks:
            rack.refuse("this rack is given twice; give each rack once, with all its nodes")
        if rack.has("block") and rack.name("block") != block:
            rack.refuse(f"block is {rack.name('block')!r} inside block {block!r}; leave it out, or move the rack")
        self._racks[name] = (block, inherited)
        for group in rack.groups("nodes", "names"):
            self._group(group, self._inherit(group, inherited), name)

    def _group(self, group: Fields, inherited: Inherited, rack: str) -> None:
        group.only(_GROUP)
        if inherited.gpus is None:
            group.refuse("gpus is missing; give the number of GPUs of a node here, or once at the top of the file")
        problem = group.text("problem") or ("" if inherited.domain is not None else UNKNOWN_DOMAIN)
        for name in group.ranges("names"):
            if name in self._nodes:
                group.refuse(f"node {name} is given at {self._nodes[name].position} too; give each node once")
            self._nodes[name] = InventoryNode(
                name=name,
                rack=rack,
                domain=name if inherited.domain == EACH_NODE else rack if inherited.domain == "" else inherited.domain,
                gpus=inherited.gpus or 0,
                position=group.position,
                product=inherited.product,
                problem=problem,
                evidence=group.texts("evidence"),
            )

    def _state(self, state: Fields) -> None:
        state.only(_STATE)
        word = state.text("state")
        flag = STATES.get(word)
        if flag is None:
            state.refuse(f"state is {word!r}; give one of {', '.join(STATES)}")
            return
        for name in state.ranges("nodes"):
            flags = self._states.setdefault(name, {})
            if flag in flags:
                state.refuse(f"node {name} is given as {word} twice; give each state of a node once")
            flags[flag] = state.text("reason") or DEFAULT_REASON

    def _registered(self, nodes: Sequence[InventoryNode]) -> list[InventoryRack]:
        """Racks with their switch trays: as told, else nine where NVLink joins nodes, however few of them are here."""
        joined = {node.rack for node in nodes if node.domain != node.name}
        return [
            InventoryRack(
                name=name,
                block=block,
                switch_trays=told.switch_trays if told.switch_trays is not None else SWITCH_TRAYS if name in joined else 0,
                fabric_gbps=told.fabric_gbps,
            )
            for name, (block, told) in self._racks.items()
        ]

    @staticmethod
    def _inherit(level: Fields, outer: Inherited) -> Inherited:
        gpus = level.number("gpus", 1, MAX_GPUS)
        trays = level.number("switch_trays", 0, MAX_TRAYS)
        gbps = level.number("fabric_gbps", 1, MAX_GBPS)
        return Inherited(
            gpus=outer.gpus if gpus is None else gpus,
            product=level.text("product") if level.has("product") else outer.product,
            domain=level.name("domain") if level.has("domain") else outer.domain,
            switch_trays=outer.switch_trays if trays is None else trays,
            fabric_gbps=outer.fabric_gbps if gbps is None else gbps,
        )
