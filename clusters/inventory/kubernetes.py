"""Kubernetes nodes: documents to items, items to a source that can be laid over what is known.

People hand over what kubectl, jq and dashboards print: lists, single nodes, several documents, nodes twice, nodes without GPUs and other
kinds mixed in. What is no GPU node is left out and counted; what is a broken node refuses the file by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from clusters.domain.errors import InvalidRequest
from clusters.inventory.labels import GPU_COUNT, PLACE_LABELS, is_label_key
from clusters.inventory.model import Inventory, Known, Options, Problem, fatal, note
from clusters.inventory.names import plain
from clusters.inventory.node_facts import GPU_RESOURCE, NodeFacts, NodeReader
from clusters.inventory.places import place_nodes
from clusters.inventory.sorting import given_once, left_out, with_known_gpus

_LISTS = ("List", "NodeList")


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """The entries of all documents: those that are or should be nodes, and the kinds of the others."""

    nodes: list[tuple[str, object]] = field(default_factory=list)  # (position, item)
    others: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesSource:
    """Nodes that Kubernetes printed, each read by itself."""

    nodes: tuple[NodeFacts, ...]
    problems: tuple[Problem, ...]
    options: Options

    def inventory(self, known: Known) -> Inventory:
        """Lay the nodes over what is known of racks and domains."""
        if any(problem.fatal for problem in self.problems):
            return Inventory(problems=self.problems)
        real = [with_known_gpus(node, known) for node in self.nodes if not node.virtual]
        kept = [node for node in real if node.gpus]
        if not kept:
            lack = f"has {GPU_RESOURCE} in status.capacity or a label {GPU_COUNT}"
            message = f"none of the {len(self.nodes)} nodes {lack}; give the GPU nodes"
            return Inventory(problems=(*self.problems, fatal("", "", message)))
        lacking = (
            *left_out("without GPUs", (node.name for node in real if not node.gpus)),
            *left_out("that stand for machines elsewhere (virtual-kubelet)", (node.name for node in self.nodes if node.virtual)),
        )
        placed = place_nodes(kept, self.options, known)
        return replace(placed, problems=(*self.problems, *lacking, *placed.problems))


def node_items(documents: Sequence[object]) -> Items:
    """Find the nodes in documents of any kind."""
    items = Items()
    for position, item in _entries(documents):
        kind = _kind(item)
        if kind in ("Node", ""):
            items.nodes.append((position, item))
        else:
            items.others[kind] += 1
    return items


def kubernetes_source(items: Items, options: Options) -> KubernetesSource:
    """Read each node; raises InvalidRequest where an option names no label."""
    for name, key in (("rack_label", options.rack_label), ("domain_label", options.domain_label)):
        if key is not None and not is_label_key(key):
            raise InvalidRequest(name, key, "give the key of a Kubernetes label, like topology.kubernetes.io/rack")
    reader = NodeReader(PLACE_LABELS | {key for key in (options.rack_label, options.domain_label) if key})
    nodes, repeated = given_once((reader.read(position, item) for position, item in items.nodes), reader.problems)
    notes = (*_other_kinds(items.others), *repeated, *_unused(options, nodes))
    return KubernetesSource(nodes=nodes, problems=(*reader.problems, *notes), options=options)


def _entries(documents: Sequence[object]) -> Iterator[tuple[str, object]]:
    for number, document in enumerate(documents, start=1):
        position = f"document {number}"
        listing: object = None
        if isinstance(document, dict) and _kind(document) in _LISTS:
            listing = document.get("items")
        elif isinstance(document, list) and any(_kind(item) == "Node" for item in document):
            listing = document
        elif isinstance(document, dict) and _kind(document):
            yield position, document
        if isinstance(listing, list):
            yield from ((f"{position}, item {index}", item) for index, item in enumerate(listing, start=1))
        elif listing is not None:
            yield f"{position}, items", listing


def _kind(item: object) -> str:
    """The kind, with its group where it is not the core one; empty where not told, as in the items of the API's own lists."""
    if not isinstance(item, dict) or not item.get("kind"):
        return ""
    kind = plain(str(item["kind"]), 60)
    return kind if item.get("apiVersion") in (None, "v1") else f"{plain(str(item['apiVersion']), 60)} {kind}"


def _other_kinds(others: Counter[str]) -> tuple[Problem, ...]:
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(others.items()))
    return (note("", "", f"objects that are no nodes left out: {counted}"),) if others else ()


def _unused(options: Options, nodes: Iterable[NodeFacts]) -> tuple[Problem, ...]:
    present = {key for node in nodes for key in node.labels}
    wanted = (options.rack_label, options.domain_label)
    return tuple(
        note("", key, "no node has this label; give a label that the nodes have, or leave the option out")
        for key in wanted
        if key and key not in present
    )
