"""Health events of NVSentinel: lists of events, single ones, CloudEvents, and the resources that it keeps in Kubernetes.

What it says is healthy takes back what the same agent said of that check. Fatal is fatal; anything else is a doubt. What it only stores
(STORE_ONLY, STORE_AND_ANALYSE) changes nothing here either. Numbers and names of its enumerations mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusters.domain.signals import SignalKind, SignalScope
from clusters.signals.kernel import SWITCH_CHECK, pci_of
from clusters.signals.model import Collector, Parsed, Signal, instant_of, items, mapping, text
from clusters.signals.xids import Meaning, dcgm_meaning, sxid_meaning, xid_meaning

ACTIONS = {
    "0": "NONE",
    "2": "COMPONENT_RESET",
    "5": "CONTACT_SUPPORT",
    "6": "RUN_FIELDDIAG",
    "15": "RESTART_VM",
    "24": "RESTART_BM",
    "25": "REPLACE_VM",
    "26": "RUN_DCGMEUD",
    "27": "CUSTOM",
    "99": "UNKNOWN",
}
_STORED_ONLY = frozenset(("STORE_ONLY", "STORE_AND_ANALYSE", "2", "3"))
#: What an event may be about, the most lasting name first: healthy events give fewer of them than faulty ones.
_ENTITIES = (("GPU_UUID", "gpu"), ("GPU", "gpu"), ("PCI", "gpu"), ("NVSWITCH", "switch"), ("NVLINK", "link"), ("NIC", "nic"))
_XID = re.compile(r"(?:XID[_ :-]?)?(\d{1,5})", re.IGNORECASE)
#: By its letters' case: SysLogsXIDError is not about SXids, SysLogsSXIDError is.
_SXID = "SXID"
_SHARED_CHECKS = re.compile(r"nvlink|nvswitch|fabric|imex", re.IGNORECASE)
MAX_DEPTH = 4


def parse(document: object, product: str = "") -> Parsed:
    """The signals of any of its documents."""
    found = Collector()
    events = list(_events(document, ""))
    if not events:
        found.refuse("", "there is no health event; give {version, events: [...]}, an event, a CloudEvent or a HealthEventResource")
    for position, event in events:
        _read(found, position, event, product)
    return found.parsed()


def _events(document: object, position: str, depth: int = 0) -> Iterator[tuple[str, dict[str, object]]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(document, list):
        for number, item in enumerate(document, start=1):
            yield from _events(item, f"event {number}", depth + 1)
        return
    body = mapping(document)
    for key in ("events", "items"):
        if isinstance(body.get(key), list):
            yield from _events(body[key], position, depth + 1)
            return
    inner = next((body[key] for key in ("data", "healthEvent", "spec") if isinstance(body.get(key), dict)), None)
    if inner is not None and "nodeName" not in body:
        yield from _events(inner, position, depth + 1)
    elif body or position:
        yield position, body


def _read(found: Collector, position: str, event: dict[str, object], product: str) -> None:
    healthy, fatal = event.get("isHealthy", False), event.get("isFatal", False)
    if not isinstance(healthy, bool) or not isinstance(fatal, bool):
        found.refuse(position, "isHealthy and isFatal must be true or false")
        return
    check = text(event.get("checkName")) or "unnamed check"
    codes = [code for code in map(text, items(event.get("errorCode"))) if code]
    said = text(event.get("message"))
    agent = text(event.get("agent"))
    code, meaning = _meaning(check, codes, said, product)
    at, own = instant_of(event.get("generatedTimestamp")), text(event.get("id"))
    component, action = _component(event), ACTIONS.get(text(event.get("recommendedAction")), text(event.get("recommendedAction")))
    signal = Signal(
        node=text(event.get("nodeName")),
        code=code,
        kind=_kind(event, healthy=healthy, fatal=fatal),
        scope=meaning.scope,
        check=" ".join(filter(None, (SWITCH_CHECK if _SXID in check else "", agent, check))),
        component=component,
        text=said or meaning.name,
        action="" if healthy or action == "NONE" else action,
        lasting=True,
        evidence=tuple(dict.fromkeys((*codes, *([said] if said else [])))),
        occurred_at=at,
        id=own or (f"{agent}/{check}/{component}/{at}/{'healthy' if healthy else code}" if at is not None else ""),
    )
    found.add(position or "event 1", signal)


def _kind(event: dict[str, object], *, healthy: bool, fatal: bool) -> SignalKind:
    if text(event.get("processingStrategy")) in _STORED_ONLY:
        return SignalKind.INFO
    if healthy:
        return SignalKind.RECOVERED
    return SignalKind.FATAL if fatal else SignalKind.SOFT


def _meaning(check: str, codes: list[str], said: str, product: str) -> tuple[str, Meaning]:
    """Code and scope; how bad it is, the event says itself."""
    first = codes[0] if codes else ""
    number = _XID.fullmatch(first)
    if number is not None and _SXID in check:
        return f"sxid:{int(number[1])}", sxid_meaning(int(number[1]), said)
    if number is not None:
        return f"xid:{int(number[1])}", xid_meaning(int(number[1]), said, product)
    if first.startswith("DCGM_FR_"):
        return f"dcgm:{first}", dcgm_meaning(first)
    scope = SignalScope.SHARED if _SXID in check or _SHARED_CHECKS.search(check) else SignalScope.NODE
    return f"nvsentinel:{first or check}", Meaning(SignalKind.SOFT, scope, check)


def _component(event: dict[str, object]) -> str:
    impacted = map(mapping, items(event.get("entitiesImpacted")))
    entities = {text(entity.get("entityType")).upper(): text(entity.get("entityValue")) for entity in impacted}
    for kind, word in _ENTITIES:
        if entities.get(kind):
            return f"{word} {pci_of(entities[kind]) if kind == 'PCI' else entities[kind]}"
    return ""
