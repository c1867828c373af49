"""What a cluster has, as a native inventory: read back by `native`, it differs from the cluster in nothing.

Only what an import could have said is written: absent nodes are left out, and so are flags of other sources: they are health, no inventory.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from clusters.domain.topology import natural_key
from clusters.inventory.model import InventoryRack, Known, KnownNode
from clusters.inventory.names import fold
from clusters.inventory.native import EACH_NODE, KIND, UNKNOWN_DOMAIN, VERSION

#: Texts that no reader of YAML takes for anything but themselves.
_BARE = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))


class _Shared(NamedTuple):
    """What nodes have in common, written once for all of them."""

    domain: str | None
    gpus: int
    product: str


class _Group(NamedTuple):
    """What tells groups of nodes of one rack apart."""

    shared: _Shared
    problem: str
    evidence: tuple[str, ...]


def native_yaml(known: Known) -> str:
    """The inventory as text; equal inventories give equal texts."""
    racks: dict[str, dict[_Group, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, node in known.nodes.items():
        if not node.absent:
            racks[node.rack][_group(name, node)].append(name)
    usual = _usual(group.shared._replace(domain="") for groups in racks.values() for group, names in groups.items() for _ in names)
    lines = [f"kind: {KIND}", f"version: {VERSION}", *_differing(usual, _Shared("", 0, "")), "blocks:"]
    registered = [known.racks.get(name) or InventoryRack(name=name, block=name, switch_trays=0) for name in racks]
    blocks: dict[str, list[InventoryRack]] = defaultdict(list)
    for rack in sorted(registered, key=lambda rack: (natural_key(rack.block), natural_key(rack.name))):
        blocks[rack.block].append(rack)
    for block, members in blocks.items():
        lines += [f"- name: {_text(block)}", "  racks:"]
        lines += [f"  {line}" for rack in members for line in _rack(rack, racks[rack.name], usual)]
    return "\n".join([*lines, *_states(known)]) + "\n"


def _rack(rack: InventoryRack, groups: dict[_Group, list[str]], usual: _Shared) -> Iterator[str]:
    base = _usual(group.shared for group, names in groups.items() for _ in names)
    yield f"- name: {_text(rack.name)}"
    yield f"  switch_trays: {rack.switch_trays}"
    if rack.fabric_gbps is not None:
        yield f"  fabric_gbps: {rack.fabric_gbps}"
    yield from (f"  {line}" for line in _differing(base, usual._replace(domain=rack.name)))
    plain = _Group(base, _problem_of(base), ())
    if list(groups) == [plain]:
        yield f"  nodes: {_ranges(next(iter(groups.values())))}"
        return
    yield "  nodes:"
    for group, names in sorted(groups.items(), key=lambda entry: min(natural_key(name) for name in entry[1])):
        yield f"  - {_ranges(names)}" if group == plain else f"  - names: {_ranges(names)}"
        yield from (f"    {line}" for line in _differing(group.shared, base))
        if group.problem != _problem_of(group.shared):
            yield f"    problem: {_text(group.problem)}"
        if group.evidence:
            yield f"    evidence: [{', '.join(map(_text, group.evidence))}]"


def _group(name: str, node: KnownNode) -> _Group:
    domain = EACH_NODE if node.domain == name else node.domain
    return _Group(_Shared(domain, node.gpus, node.product), node.problem, node.evidence)


def _problem_of(shared: _Shared) -> str:
    """The problem that a reader takes as said."""
    return UNKNOWN_DOMAIN if shared.domain is None else ""


def _usual(shares: Iterator[_Shared]) -> _Shared:
    counts = Counter(shares)
    return min(counts, key=lambda share: (-counts[share], share.domain or "", share.gpus, share.product), default=_Shared("", 0, ""))


def _differing(shared: _Shared, outer: _Shared) -> Iterator[str]:
    if shared.gpus != outer.gpus:
        yield f"gpus: {shared.gpus}"
    if shared.product != outer.product:
        yield f"product: {_text(shared.product)}"
    if shared.domain != outer.domain:
        yield f"domain: {'null' if shared.domain is None else _text(shared.domain)}"


def _states(known: Known) -> Iterator[str]:
    told: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, node in known.nodes.items():
        for flag, reason in () if node.absent else node.flags.items():
            told[flag.value, reason].append(name)
    if told:
        yield "states:"
    for (state, reason), names in sorted(told.items()):
        yield f"- {{nodes: {_ranges(names)}, state: {state}, reason: {_text(reason)}}}"


def _ranges(names: list[str]) -> str:
    folded = [_text(part) for part in fold(names)]
    return folded[0] if len(folded) == 1 else f"[{', '.join(folded)}]"


def _text(text: str) -> str:
    """A text as it is, or in quotes that read the same in JSON and YAML, so that no name is taken for a number or a word."""
    return text if _BARE.fullmatch(text) and text.lower() not in _WORDS else json.dumps(text, ensure_ascii=False)
