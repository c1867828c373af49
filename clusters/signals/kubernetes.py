"""Nodes of Kubernetes as signals: readiness, taints and cordons, conditions of NVSentinel and node-problem-detector, readiness of IMEX.

A node object is a snapshot: it says what holds now and, by leaving it out, what does not. So each check either stands or is taken back, at
the time the snapshot came in. What the kubelet and the control plane say is read as inventories read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusters.domain.health import Flag
from clusters.domain.signals import FLAG_OF_KIND, SignalKind, SignalScope
from clusters.inventory.conditions import Item, flags_of, listed
from clusters.signals.model import Collector, Parsed, Signal, instant_of, items, mapping, text
from clusters.signals.xids import Meaning, dcgm_meaning, xid_meaning

#: Checks that every node answers, and the flags of each; at most one of them holds.
CHECKS: dict[str, tuple[Flag, ...]] = {
    "readiness": (Flag.UNREACHABLE, Flag.SUSPECT),
    "out of service": (Flag.FAILED,),
    "cordon": (Flag.QUARANTINED, Flag.DRAINING),
}
IMEX = "imex"
KIND_OF_FLAG = {flag: kind for kind, flag in FLAG_OF_KIND.items()}

#: Conditions of the kubelet: what matters of them shows as readiness and taints.
_KUBELET = frozenset(("Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "OutOfDisk"))
_NOT_HEALTHY = "IsNotHealthy"
_IMEX = re.compile(r"imex", re.IGNORECASE)
_WELL_WHEN_TRUE = re.compile(r"(Ready|Healthy)$")
_CODE = re.compile(r"\[(?:XID[_ ]?)?([A-Z0-9_]{1,60})\]")
_FABRIC = re.compile(r"nvlink|nvswitch|fabric|imex", re.IGNORECASE)
_PRODUCT = "nvidia.com/gpu.product"
_LISTS = ("List", "NodeList", "EventList", "ComputeDomainList")
_DEPTH = 4


def parse(document: object) -> Parsed:
    """The signals of nodes, of events about nodes and of ComputeDomains, alone, in lists or as a watch sends them."""
    found = Collector()
    objects = list(_objects(document, ""))
    if not objects:
        found.refuse("", "there is no object of Kubernetes; give nodes as kubectl get nodes -o json prints them")
    for position, item in objects:
        kind = text(item.get("kind")) or "Node"
        reader = {"Node": _node, "Event": _event, "ComputeDomain": _compute_domain}.get(kind)
        if reader is None:
            found.refuse(position, f"a {kind[:60]} says nothing of nodes; give Node, Event or ComputeDomain")
        else:
            reader(found, position, item)
    return found.parsed()


def _objects(document: object, position: str, depth: int = 0) -> Iterator[tuple[str, dict[str, object]]]:
    if depth > _DEPTH:
        return
    body = mapping(document)
    listing = document if isinstance(document, list) else body.get("items") if text(body.get("kind")) in ("", *_LISTS) else None
    if isinstance(listing, list):
        for number, item in enumerate(listing, start=1):
            yield from _objects(item, f"item {number}", depth + 1)
    elif isinstance(body.get("object"), dict) and "type" in body:  # of a watch
        yield from _objects(body["object"], position, depth + 1)
    elif body or position:
        yield position or "item 1", body


def _node(found: Collector, position: str, item: dict[str, object]) -> None:
    metadata, spec, status = mapping(item.get("metadata")), mapping(item.get("spec")), mapping(item.get("status"))
    name = text(metadata.get("name"))
    if not status:
        found.refuse(position, f"node {name[:60]!r} has no status")
        return
    labels = {key: value for key, value in mapping(metadata.get("labels")).items() if isinstance(value, str)}
    conditions = listed(status, "conditions")
    flags = flags_of(labels, spec, conditions)
    for check, asked in CHECKS.items():
        flag = next((flag for flag in asked if flag in flags), None)
        if flag is None:
            found.add(position, _well(name, check))
        else:
            kind = KIND_OF_FLAG[flag]
            found.add(position, Signal(node=name, code=f"kubernetes:{check}", kind=kind, check=check, text=flags[flag], lasting=True))
    for condition in conditions:
        if condition.get("type") and condition["type"] not in _KUBELET:
            found.add(position, _condition(name, condition, labels.get(_PRODUCT, "")))


def _condition(node: str, condition: Item, product: str) -> Signal:
    kind, status = condition["type"], condition.get("status", "")
    is_imex = _IMEX.search(kind) is not None
    check = IMEX if is_imex else f"condition {kind}"
    if status == ("True" if _WELL_WHEN_TRUE.search(kind) else "False"):
        return _well(node, check)
    reason, message = condition.get("reason", ""), condition.get("message", "")
    code, meaning = _meaning(kind, message, product)
    fatal = status == "True" and reason == f"{kind}{_NOT_HEALTHY}"
    return Signal(
        node=node,
        code=IMEX if is_imex else code,
        kind=SignalKind.FATAL if fatal else SignalKind.SOFT,
        scope=meaning.scope,
        check=check,
        text=": ".join(filter(None, (kind, message or reason))),
        action=meaning.action if fatal else "",
        lasting=True,
        evidence=(f"{kind}={status} {reason}: {message}", f"since {condition.get('lastTransitionTime', 'when is not told')}"),
    )


def _meaning(kind: str, message: str, product: str) -> tuple[str, Meaning]:
    """Code and scope of a condition or event; NVSentinel begins its messages with the code."""
    code = _CODE.match(message)
    if code and code[1].isdigit():
        return f"xid:{int(code[1])}", xid_meaning(int(code[1]), message, product)
    if code and code[1].startswith("DCGM_FR_"):
        return f"dcgm:{code[1]}", dcgm_meaning(code[1])
    scope = SignalScope.SHARED if _FABRIC.search(kind) else SignalScope.NODE
    return f"kubernetes:{kind}", Meaning(SignalKind.SOFT, scope, kind)


def _event(found: Collector, position: str, item: dict[str, object]) -> None:
    """NVSentinel's non-fatal faults are events: a doubt each. Other events about nodes say nothing of their health."""
    about, reason = mapping(item.get("involvedObject") or item.get("regarding")), text(item.get("reason"))
    if text(about.get("kind")) != "Node":
        found.refuse(position, "an event that is about no node")
        return
    kind, message = text(item.get("type")), text(item.get("message")) or text(item.get("note"))
    code, meaning = _meaning(kind, message, "")
    stamps = (item.get("lastTimestamp"), item.get("eventTime"), item.get("firstTimestamp"))
    at = next((moment for moment in map(instant_of, stamps) if moment is not None), None)
    uid = text(mapping(item.get("metadata")).get("uid"))
    found.add(
        position,
        Signal(
            node=text(about.get("name")),
            code=code,
            kind=SignalKind.SOFT if reason.endswith(_NOT_HEALTHY) else SignalKind.INFO,
            scope=meaning.scope,
            check=f"event {kind}",
            text=message or reason,
            occurred_at=at,
            id=f"{uid}/{at}" if uid and at is not None else "",
        ),
    )


def _compute_domain(found: Collector, position: str, item: dict[str, object]) -> None:
    """A node whose IMEX daemon is not ready cannot share memory with the others of its job: suspect until it is."""
    name = text(mapping(item.get("metadata")).get("name"))
    for number, node in enumerate(map(mapping, items(mapping(item.get("status")).get("nodes"))), start=1):
        where, status = f"{position}, node {number}", text(node.get("status"))
        if status == "Ready":
            found.add(where, _well(text(node.get("name")), IMEX))
        else:
            why = f"ComputeDomain {name}: IMEX is {status or 'in a state that is not told'}"
            found.add(where, imex_not_ready(text(node.get("name")), why))


def imex_not_ready(node: str, why: str) -> Signal:
    """IMEX of the node is not ready."""
    return Signal(node=node, code=IMEX, kind=SignalKind.SOFT, scope=SignalScope.SHARED, check=IMEX, text=why, lasting=True)


def _well(node: str, check: str) -> Signal:
    return Signal(node=node, code=f"kubernetes:{check}", kind=SignalKind.RECOVERED, check=check, lasting=True)
