"""Which rack each Kubernetes node is drawn in, and which block each rack is in.

A rack keeps its identity while nodes come and go and labels appear and vanish. A node keeps the rack it was given as long as one of its
labels still names that rack, or none names any; a label that names another rack moves it. A new node joins the rack its mates are already
in, under whichever name that is. In order:

1. the label the user names is taken as it stands;
2. labels of buildings and clouds (`RACK_LABELS`): the node's own rack if a label still names it, else the first name in use, else
   the first;
3. else the fabric: the rack that others on the same fabric are in, else one named by the ClusterUUID;
4. else Topograph's domain, in the same way;
5. else the rack it had, else its block is drawn as one rack.

A label value that nodes of two fabrics share is no rack. Nothing here depends on the order of the nodes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from clusters.domain.topology import natural_key
from clusters.inventory.labels import BLOCK_LABELS, RACK_LABELS, TOPOGRAPH_LABELS, fabric_of, first_of
from clusters.inventory.model import Known, Options, Problem, note
from clusters.inventory.node_facts import NodeFacts

#: The block of racks whose nodes name none.
DEFAULT_BLOCK = "default"
#: Before the name of a block that is drawn as a rack; no label can have a colon, so no real rack is ever taken for one.
BY_BLOCK = "block:"

Fabrics = Mapping[str, str | None]  # node -> ClusterUUID


class RackDrawing:
    """One pass over the nodes of a file; `racks` has the result, `problems` what had to be passed over."""

    def __init__(self, nodes: Sequence[NodeFacts], fabrics: Fabrics, options: Options, known: Known) -> None:
        self.problems: list[Problem] = []
        self._nodes = nodes
        self._fabrics = fabrics
        self._named = options.rack_label
        self._known = known
        self._in_use = {node.rack for node in known.nodes.values() if not node.rack.startswith(BY_BLOCK)}
        self._struck = self._strike()
        self.racks: dict[str, str] = {}  # node -> rack
        self._draw()

    def _draw(self) -> None:
        for node in self._nodes:
            rack = self._by_label(node)
            if rack is not None:
                self.racks[node.name] = rack
        self._join(lambda node: self._fabrics[node.name], self._known_on_fabrics())
        self._join(self._topograph, {})
        for node in self._nodes:
            if node.name not in self.racks:
                self.racks[node.name] = self._last_resort(node)

    def _by_label(self, node: NodeFacts) -> str | None:
        labelled = list(self._labelled(node))
        if not labelled:
            return None
        if self._named and self._usable(node, self._named):
            return labelled[0]
        names = list(self._names(node))
        before = self._before(node.name)
        if before in names:
            return before
        return next((name for name in names if name in self._in_use), labelled[0])

    def _join(self, group_of: Callable[[NodeFacts], str | None], elsewhere: Mapping[str, Counter[str]]) -> None:
        """Put nodes that have no rack yet where the others of their group are.

        Repeated until none moves, so that the next import moves none. It ends: a node moves only off a rack it is alone in, which
        is then gone.
        """
        groups = {node.name: group for node in self._nodes if (group := group_of(node))}
        joined = {name: self._before(name) for name in groups.keys() - self.racks.keys()}
        while True:
            tally: dict[str, Counter[str]] = defaultdict(Counter, {group: Counter(counts) for group, counts in elsewhere.items()})
            for name, group in groups.items():
                rack = self.racks.get(name) or joined.get(name)
                tally[group].update([rack] if rack else [])
            settled: dict[str, str | None] = {name: _mates_rack(tally[groups[name]], own) or groups[name] for name, own in joined.items()}
            if settled == joined:
                break
            joined = settled
        self.racks |= {name: rack for name, rack in joined.items() if rack}

    def _last_resort(self, node: NodeFacts) -> str:
        block, known = first_of(node.labels, BLOCK_LABELS), self._known.nodes.get(node.name)
        if known is not None and (block is None or not known.rack.startswith(BY_BLOCK)):
            return known.rack
        return f"{BY_BLOCK}{block or DEFAULT_BLOCK}"

    def _before(self, name: str) -> str | None:
        """The rack the node was given earlier, unless it was only drawn with its block."""
        known = self._known.nodes.get(name)
        return known.rack if known is not None and known.rack in self._in_use else None

    def _known_on_fabrics(self) -> dict[str, Counter[str]]:
        """Where nodes that the file does not have were on each fabric: a rack is no less that rack while a node is away."""
        present = {node.name for node in self._nodes}
        votes: dict[str, Counter[str]] = defaultdict(Counter)
        for name, node in self._known.nodes.items():
            fabric = fabric_of(node.domain).uuid
            if fabric and name not in present and node.rack in self._in_use:
                votes[fabric][node.rack] += 1
        return votes

    def _names(self, node: NodeFacts) -> Iterator[str]:
        """All names of racks that the node's labels give, best first."""
        yield from self._labelled(node)
        yield from (name for name in (self._fabrics[node.name], self._topograph(node)) if name)

    def _labelled(self, node: NodeFacts) -> Iterator[str]:
        keys = ((self._named,) if self._named else ()) + RACK_LABELS
        return (node.labels[key] for key in keys if self._usable(node, key))

    def _topograph(self, node: NodeFacts) -> str | None:
        return next((node.labels[key] for key in TOPOGRAPH_LABELS if self._usable(node, key)), None)

    def _usable(self, node: NodeFacts, key: str) -> bool:
        value = node.labels.get(key)
        return bool(value) and (key, value) not in self._struck

    def _strike(self) -> set[tuple[str, str]]:
        keys = dict.fromkeys(((self._named,) if self._named else ()) + RACK_LABELS + TOPOGRAPH_LABELS)
        struck = two_fabrics(self._nodes, self._fabrics, keys)
        for (key, value), fabrics in struck.items():
            message = f"this value covers {len(fabrics)} NVLink fabrics ({', '.join(fabrics)}) and is no rack; the next label is taken"
            self.problems.append(note("", f"{key}={value}", message))
        return set(struck)


def two_fabrics(nodes: Sequence[NodeFacts], fabrics: Fabrics, keys: Mapping[str, None]) -> dict[tuple[str, str], list[str]]:
    """The (label, value) pairs that nodes of several fabrics share, with those fabrics."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for node in nodes:
        fabric = fabrics[node.name]
        for key in keys if fabric else ():
            if node.labels.get(key):
                found[key, node.labels[key]].add(fabric or "")
    return {pair: sorted(found[pair]) for pair in sorted(found) if len(found[pair]) > 1}


def blocks_of(nodes: Sequence[NodeFacts], racks: Mapping[str, str], known: Known) -> tuple[dict[str, str], list[Problem]]:
    """The block of each rack: the one it had while any node still names it, else the one most nodes name."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for node in nodes:
        block = first_of(node.labels, BLOCK_LABELS)
        votes[racks[node.name]].update([block] if block else [])
    blocks, problems = {}, []
    for rack, tally in votes.items():
        before = known.racks[rack].block if rack in known.racks else None
        blocks[rack] = before if before and (before in tally or not tally) else _most(tally) or DEFAULT_BLOCK
        if len(tally) > 1:
            counted = ", ".join(f"{name} {tally[name]} times" for name in sorted(tally, key=natural_key))
            problems.append(note("", rack, f"its nodes name {len(tally)} blocks ({counted}); {blocks[rack]} taken"))
    return blocks, problems


def _mates_rack(tally: Counter[str], own: str | None) -> str | None:
    """The node's own rack while others of its group are there; alone it goes where several are (two alone would trade places)."""
    best = _most(tally)
    if own is None or best is None:
        return best
    return own if tally[own] > 1 or tally[best] == 1 else best


def _most(tally: Counter[str]) -> str | None:
    """The name with most votes; of equals the first by name."""
    return min(tally, key=lambda name: (-tally[name], natural_key(name)), default=None)
