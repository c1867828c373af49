"""Slurm's topology files: topology.conf and topology.yaml to the rack of each node.

A block of topology/block is a rack and one domain: the nodes that a segment may not leave. Slurm aggregates blocks by their order in the
file, as many as the largest of BlockSizes holds of the smallest; such a group is a block here, named after its first rack. A leaf switch
of topology/tree is drawn as a rack, in the block of the switch above it, but says nothing of NVLink.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from clusters.domain.errors import InvalidRequest
from clusters.inventory.documents import MAX_FILE, documents_of, read_text
from clusters.inventory.fields import shape
from clusters.inventory.model import BadInventory, Problem, fatal, note
from clusters.inventory.names import MAX_NODES, PLACE_RULE, expand, is_place, plain

WANTED = "give Slurm's topology.yaml, or topology.conf with lines like BlockName=rack01 Nodes=n[01-18]"
#: Before the name of a block that stands for a group of racks.
AGGREGATE = "from-"
#: Before each position in this file.
FILE = "topology file"

_CONF = re.compile(r"^[ \t]*(BlockName|SwitchName|BlockSizes|include)\b", re.MULTILINE | re.IGNORECASE)
_PAIR = re.compile(r"(\w+)\s*=\s*(\S+)")
_HOSTS = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")


class Place(NamedTuple):
    """Where a node is."""

    rack: str
    domain: str | None  # None: the topology does not tell
    position: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """What a topology file says."""

    places: Mapping[str, Place] = field(default_factory=dict)  # by node
    blocks: Mapping[str, str] = field(default_factory=dict)  # by rack; racks that are in no group are left out
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Plan:
    """One topology of the file, as it stands there."""

    name: str = ""
    sizes: tuple[int, ...] = ()
    racks: dict[str, tuple[str, list[str]]] = field(default_factory=dict)  # block or leaf switch -> (position, nodes)
    above: dict[str, str] = field(default_factory=dict)  # switch -> the switch above it
    tree: bool = False


def read_topology(content: bytes, max_bytes: int = MAX_FILE) -> Topology:
    """What the file says, its problems among it; a file that cannot be read is a topology with a fatal problem."""
    try:
        text = read_text(content, max_bytes)
        reading = _Reading()
        if _CONF.search(text):
            reading.conf(text)
        else:
            reading.yaml(documents_of(text))
    except BadInventory as error:
        return Topology(problems=tuple(_of_this_file(problem) for problem in error.problems))
    return reading.topology()


def expand_hosts(text: str) -> list[str]:
    """`n[01-18,20],m1` to names, as Slurm reads it; raises InvalidRequest."""
    parts = _HOSTS.findall(text)
    if not parts or ",".join(parts) != text:
        raise InvalidRequest("nodes", text, "give names and ranges like n[01-18,20], with commas between them; brackets come in pairs")
    return [name for part in parts for name in expand(part.strip())]


def _of_this_file(problem: Problem) -> Problem:
    position = f"{FILE}, {problem.position}" if problem.position else FILE
    message = problem.message.split("; give Kubernetes nodes")[0]
    return fatal(position, problem.name, message if message == problem.message else f"{message}; {WANTED}")


class _Reading:
    """Collects topologies and problems."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._plans: list[_Plan] = []
        self._plain: list[str] = []  # topologies without blocks or switches
        self._named = 0  # nodes named so far, whatever they are

    # ---- topology.conf

    def conf(self, text: str) -> None:
        plan = _Plan()
        for number, line in _lines(text):
            position = f"{FILE}, line {number}"
            pairs = {key.lower(): value for key, value in _PAIR.findall(line)}
            if "blockname" in pairs:
                self._rack(plan, position, pairs["blockname"], pairs.get("nodes", ""))
            elif "switchname" in pairs:
                plan.tree = True
                self._switch(plan, position, pairs["switchname"], pairs.get("nodes", ""), pairs.get("switches", ""))
            elif "blocksizes" in pairs:
                self._sizes(plan, position, pairs["blocksizes"].split(","))
            else:
                self._refuse(position, "", f"this is {plain(line, 60)!r}; give BlockName=, BlockSizes= or SwitchName=")
        self._plans.append(plan)

    # ---- topology.yaml

    def yaml(self, documents: list[object]) -> None:
        entries = [entry for document in documents if isinstance(document, list) for entry in document]
        plans = [plan for number, entry in enumerate(entries, start=1) if (plan := self._entry(number, entry)) is not None]
        if not entries:
            self._refuse(FILE, "", f"there is no topology in it; {WANTED}")
        self._plans = [plan for _, plan in sorted(plans, key=lambda found: found[0])]

    def _entry(self, number: int, entry: object) -> tuple[tuple[bool, bool], _Plan] | None:
        """One topology with its rank: those of blocks first, of these the default of the cluster."""
        position = f"{FILE}, topology {number}"
        if not isinstance(entry, dict) or not isinstance(entry.get("topology"), str):
            self._refuse(position, "", f"this is {shape(entry)} without a name; give topology: NAME with block, tree or flat")
            return None
        block, tree = entry.get("block"), entry.get("tree")
        plan = _Plan(name=plain(entry["topology"], 60), tree=not isinstance(block, dict))
        if isinstance(block, dict):
            self._sizes(plan, position, block.get("block_sizes") or [])
            for place, item in self._items(position, block, "blocks", "block"):
                self._rack(plan, place, item.get("block"), item.get("nodes") or "")
        elif isinstance(tree, dict):
            for place, item in self._items(position, tree, "switches", "switch"):
                self._switch(plan, place, item.get("switch"), item.get("nodes") or "", item.get("children") or "")
        else:
            self._plain.append(plan.name)
        return (plan.tree, entry.get("cluster_default") is not True), plan

    def _items(self, position: str, holder: dict[str, object], key: str, noun: str) -> Iterator[tuple[str, dict[str, object]]]:
        listed = holder.get(key)
        if not isinstance(listed, list):
            self._refuse(position, "", f"{key} is {shape(listed)}; give a list")
            return
        for number, item in enumerate(listed, start=1):
            place = f"{position}, {noun} {number}"
            if isinstance(item, dict):
                yield place, item
            else:
                self._refuse(place, "", f"this is {shape(item)}; give a mapping with {noun} and nodes")

    # ---- both

    def _rack(self, plan: _Plan, position: str, name: object, nodes: object) -> None:
        label = str(name) if isinstance(name, str | int) and not isinstance(name, bool) else ""
        if not is_place(label):
            self._refuse(position, "", f"the name is {shape(name)}; {PLACE_RULE}")
        elif label in plan.racks:
            self._refuse(position, label, f"this name is given at {plan.racks[label][0]} too; give each once, with all its nodes")
        else:
            plan.racks[label] = (position, self._hosts(position, label, nodes))

    def _switch(self, plan: _Plan, position: str, name: object, nodes: object, switches: object) -> None:
        children = self._hosts(position, str(name), switches)
        plan.above.update(dict.fromkeys(children, str(name)))
        if nodes or not children:
            self._rack(plan, position, name, nodes)

    def _sizes(self, plan: _Plan, position: str, sizes: object) -> None:
        told = [str(size).strip() for size in sizes] if isinstance(sizes, list) else [""]
        if all(size.isascii() and size.isdigit() and 0 < len(size) < 7 and int(size) for size in told):
            plan.sizes = tuple(sorted(int(size) for size in told))
            odd = [size for size in plan.sizes if size % plan.sizes[0]]
            if odd:
                self._refuse(position, "", f"the block size {odd[0]} is no multiple of the smallest, {plan.sizes[0]}; give one that is")
        else:
            self._refuse(position, "", f"the block sizes are {plain(str(sizes), 60)}; give whole numbers from 1 on, like 18,36,72")

    def _hosts(self, position: str, name: str, text: object) -> list[str]:
        if text == "":
            return []
        try:
            hosts = expand_hosts(str(text)) if isinstance(text, str | int) else []
        except InvalidRequest as error:
            self._refuse(position, name, f"nodes {plain(str(error.value), 60)!r}: {error.expected}")
            return []
        self._named += len(hosts)
        if self._named > 2 * MAX_NODES:  # in a tree and in blocks
            raise BadInventory([fatal("", "", f"it names more than {2 * MAX_NODES:,} nodes; give those of one cluster")])
        return hosts

    def topology(self) -> Topology:
        """All topologies as one. A node is where the first that has it puts it; a name that is taken gets its topology's in front."""
        places: dict[str, Place] = {}
        blocks: dict[str, str] = {}
        taken: set[str] = set()
        for plan in self._plans:
            names = {rack: f"{plan.name}.{rack}" if rack in taken else rack for rack in plan.racks}
            taken.update(names.values())
            own: dict[str, Place] = {}
            for rack, (position, nodes) in plan.racks.items():
                place = Place(names[rack], None if plan.tree else names[rack], position)
                for node in nodes:
                    if own.setdefault(node, place) is not place:
                        self._refuse(position, node, f"this node is in {own[node].rack} too, at {own[node].position}; give each node once")
            places = own | places
            drawn = {place.rack for place in places.values()}
            blocks |= {names[rack]: group for rack, group in _groups(plan).items() if not plan.tree or names[rack] in drawn}
        if not places and self._plain:
            self.problems.append(
                note(FILE, ", ".join(self._plain), "this topology is flat: it has neither block nor tree, and tells no racks")
            )
        return Topology(places=places, blocks=blocks, problems=tuple(self.problems))

    def _refuse(self, position: str, name: str, message: str) -> None:
        self.problems.append(fatal(position, plain(name, 60), message))


def _groups(plan: _Plan) -> dict[str, str]:
    """The block of each rack: the switch above it, or the group of racks that Slurm aggregates."""
    if plan.tree:
        return {rack: plan.above[rack] for rack in plan.racks if rack in plan.above and is_place(plan.above[rack])}
    count = plan.sizes[-1] // plan.sizes[0] if plan.sizes else 1
    racks = list(plan.racks)
    return {rack: f"{AGGREGATE}{racks[index - index % count]}" for index, rack in enumerate(racks)} if count > 1 else {}


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with something on them, comments off and continued ones joined, with the number of the first."""
    joined, start = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        start = start or number
        joined += line.split("#")[0].rstrip()
        if joined.endswith("\\"):
            joined = joined[:-1] + " "
            continue
        if joined.strip():
            yield start, joined.strip()
        joined, start = "", 0
    if joined.strip():
        yield start, joined.strip()
