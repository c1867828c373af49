"""A file to a Source: what kind of file is it, and is it one that can be imported.

Whatever is not an inventory is refused with one sentence that says what was found and what would be right.
"""

from __future__ import annotations

import re

from clusters.inventory.documents import MAX_FILE, read_documents
from clusters.inventory.kubernetes import kubernetes_source, node_items
from clusters.inventory.model import WANTED, BadInventory, Inventory, Known, Options, Source, fatal
from clusters.inventory.names import plain
from clusters.inventory.native import KIND, NativeSource, native_source
from clusters.inventory.slurm import is_slurm, slurm_source
from clusters.inventory.slurm_topology import FILE as TOPOLOGY

_SLURM = re.compile(r"^\s*(NodeName|BlockName|SwitchName|BlockSizes|PartitionName|ClusterName)\s*=", re.MULTILINE | re.IGNORECASE)
_KEYS_SHOWN = 4


def read_source(content: bytes, options: Options, max_bytes: int = MAX_FILE) -> Source:
    """Read the file as far as it can be read without knowing the cluster; raises BadInventory where it is no inventory at all."""
    try:
        documents = read_documents(content, max_bytes)
    except BadInventory:
        if _SLURM.search(content.decode("utf-8", "replace")):
            raise _wrong("a Slurm configuration or topology file") from None
        raise
    if any(is_slurm(document) for document in documents):
        return slurm_source(documents, options)
    if options.topology is not None:
        message = "a topology file goes with Slurm nodes, and these are none; leave it out, or give scontrol show nodes --json"
        raise BadInventory([fatal(TOPOLOGY, "", message)])
    if any(is_native(document) for document in documents):
        return _native(documents, options)
    items = node_items(documents)
    if items.nodes:
        return kubernetes_source(items, options)
    raise _wrong(_found(documents, items.others))


def read_inventory(content: bytes, options: Options, known: Known, max_bytes: int = MAX_FILE) -> Inventory:
    """What the file says in the light of what is known; a file that cannot be read is an inventory with a fatal problem."""
    try:
        return read_source(content, options, max_bytes).inventory(known)
    except BadInventory as error:
        return Inventory(problems=error.problems)


def is_native(document: object) -> bool:
    """Whether a document is a native inventory: it says so, or it lists racks at its top."""
    if not isinstance(document, dict):
        return False
    return document.get("kind") == KIND or ("racks" in document and "kind" not in document)


def _native(documents: list[object], options: Options) -> NativeSource:
    for number, document in enumerate(documents, start=1):
        if document is not None and not is_native(document):
            message = f"this is {_describe(document)} among native inventories; give files of one kind only"
            raise BadInventory([fatal(f"document {number}", "", message)])
    return native_source(documents, options)


def _found(documents: list[object], others: dict[str, int]) -> str:
    """What the file holds, in words."""
    if others:
        counted = ", ".join(f"{count} {kind}" for kind, count in sorted(others.items()))
        return f"Kubernetes objects without a node among them ({counted})"
    filled = [document for document in documents if document is not None]
    return _describe(filled[0]) if filled else "an empty file"


def _describe(document: object) -> str:
    if isinstance(document, dict):
        return _describe_mapping(document)
    if isinstance(document, list):
        topology = any(isinstance(item, dict) and "topology" in item for item in document)
        return "a Slurm topology.yaml" if topology else f"a list of {len(document)} items that are not nodes"
    text = str(document)
    if _SLURM.search(text):
        return "a Slurm configuration or topology file"
    return f"plain text ({text[:40]!r}…)" if len(text) > 40 else f"plain text ({text!r})"


def _describe_mapping(document: dict[str, object]) -> str:
    kind = document.get("kind")
    if isinstance(kind, str) and kind:
        if kind in ("List", "NodeList"):
            return f"a Kubernetes {kind} without items"
        return f"an object of kind {kind}"
    if "switches" in document:
        return "a Topograph model"
    if "meta" in document and ("nodes" in document or "jobs" in document):
        return "an answer of Slurm without nodes"
    if not document:
        return "an empty mapping"
    keys = ", ".join(list(document)[:_KEYS_SHOWN])
    return f"a mapping with the keys {keys}{', …' if len(document) > _KEYS_SHOWN else ''}"


def _wrong(found: str) -> BadInventory:
    return BadInventory([fatal("", "", f"the file holds {plain(found, 200)}; {WANTED}")])
