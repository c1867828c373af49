"""Webhooks of Alertmanager, and the alerts that its API lists.

An alert lasts until it is resolved. One that names an Xid means what the catalogue says of it. Any other is a doubt if it is critical or a
warning, and worth counting otherwise: what an alert's author calls critical need not be the node's end. The label `slicekeeper_kind`
says it outright.
"""

from __future__ import annotations

import re

from clusters.domain.signals import SignalKind, SignalScope
from clusters.signals.kernel import SWITCH_CHECK
from clusters.signals.model import Collector, Parsed, Signal, first_text, instant_of, mapping, text
from clusters.signals.xids import Meaning, xid_meaning

#: Labels that may name the node, the surest first. `instance` is where it was scraped, with a port.
NODE_LABELS = ("node", "Hostname", "hostname", "nodename", "node_name", "kubernetes_node", "host", "instance")
KIND_LABEL, SCOPE_LABEL = "slicekeeper_kind", "slicekeeper_scope"
#: Versions of the webhook that are read.
VERSION = "4"

_COMPONENTS = (("gpu", "gpu"), ("GPU", "gpu"), ("link", "link"), ("nvlink", "link"), ("nvswitch", "switch"))
_NUMBER = re.compile(r"\d{1,5}")
_PORT = re.compile(r":\d{1,5}$")
_DOUBTS = frozenset(("critical", "error", "page", "warning", "major", "minor"))
_SWITCH = re.compile(r"nvswitch", re.IGNORECASE)
_FABRIC = re.compile(r"nvlink|nvswitch|fabric", re.IGNORECASE)


def parse(document: object, product: str = "") -> Parsed:
    """The signals of a webhook's body, or of a list of alerts."""
    found = Collector()
    body = mapping(document)
    alerts = document if isinstance(document, list) else body.get("alerts")
    if not isinstance(alerts, list):
        found.refuse("", "there is no list of alerts; give the body of an Alertmanager webhook, or the answer of its API")
        return found.parsed()
    if body and text(body.get("version")) not in ("", VERSION):
        found.refuse("version", f"version {text(body.get('version'))[:20]!r} of the webhook is not known; {VERSION} is")
    if (left_out := body.get("truncatedAlerts")) and isinstance(left_out, int):
        found.refuse("truncatedAlerts", f"{left_out} alerts were left out by Alertmanager (max_alerts)")
    for number, alert in enumerate(alerts, start=1):
        _read(found, f"alert {number}", mapping(alert), product)
    return found.parsed()


def _read(found: Collector, position: str, alert: dict[str, object], product: str) -> None:
    labels, notes = mapping(alert.get("labels")), mapping(alert.get("annotations"))
    if not labels:
        found.refuse(position, "it has no labels")
        return
    node = _PORT.sub("", first_text(labels, NODE_LABELS))
    if not node:
        found.refuse(position, f"no label names a node; give one of {', '.join(NODE_LABELS)}")
        return
    name = text(labels.get("alertname")) or "alert"
    said = first_text(notes, ("description", "summary", "message"))
    code, meaning = _meaning(labels, name, said, product)
    resolved = _is_resolved(alert)
    begun, ended = instant_of(alert.get("startsAt")), instant_of(alert.get("endsAt"))
    fingerprint = text(alert.get("fingerprint"))
    signal = Signal(
        node=node,
        code=code,
        kind=SignalKind.RECOVERED if resolved else meaning.kind,
        scope=meaning.scope,
        check=f"{SWITCH_CHECK if _SWITCH.search(name) else 'alert'} {name}",
        component=_component(labels),
        text=meaning.worded(said),
        action="" if resolved else meaning.action,
        lasting=True,
        evidence=(f"{name}: {said}" if said else name,),
        occurred_at=ended if resolved else begun,
        id=f"{fingerprint}/{text(alert.get('startsAt'))}/{'resolved' if resolved else 'firing'}" if fingerprint and begun else "",
    )
    found.add(position, signal)


def _is_resolved(alert: dict[str, object]) -> bool:
    """The API's alerts have an object for a status: what is listed there fires still."""
    return alert.get("status") == "resolved"


def _meaning(labels: dict[str, object], name: str, said: str, product: str) -> tuple[str, Meaning]:
    told = first_text(labels, ("xid", "XID", "err_code"))
    model = product or text(labels.get("modelName"))
    if _NUMBER.fullmatch(told):
        code, meaning = f"xid:{int(told)}", xid_meaning(int(told), said, model)
    else:
        severity = text(labels.get("severity")).lower()
        scope = SignalScope.SHARED if _FABRIC.search(name) else SignalScope.NODE
        code, meaning = f"alert:{name}", Meaning(SignalKind.SOFT if severity in _DOUBTS else SignalKind.INFO, scope, name)
    kind, scope_told = text(labels.get(KIND_LABEL)), text(labels.get(SCOPE_LABEL))
    if kind in list(SignalKind) and kind != SignalKind.RECOVERED:
        meaning = meaning._replace(kind=SignalKind(kind), known=True)
    return code, meaning._replace(scope=SignalScope(scope_told)) if scope_told in list(SignalScope) else meaning


def _component(labels: dict[str, object]) -> str:
    return next((f"{word} {value}" for key, word in _COMPONENTS if (value := text(labels.get(key)))), "")
