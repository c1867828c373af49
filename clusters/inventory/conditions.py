"""The condition of a Kubernetes node, from its labels, taints and Ready; all its other conditions are kept as evidence only.

A cordon alone is somebody's drain. Where NVSentinel's label or a GPU error taint explains the cordon, the node is quarantined (or draining,
where that is what the label says) and the cordon adds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from clusters.domain.health import Flag
from clusters.inventory.names import plain

SENTINEL = "dgxc.nvidia.com/nvsentinel-state"

#: States of NVSentinel's label. It stays on a node until the fault is seen to be gone, so even a successful repair is no release.
_SENTINEL_FLAGS = {
    "quarantined": Flag.QUARANTINED,
    "draining": Flag.DRAINING,
    "drain-succeeded": Flag.QUARANTINED,
    "drain-failed": Flag.QUARANTINED,
    "remediating": Flag.QUARANTINED,
    "remediation-succeeded": Flag.QUARANTINED,
    "remediation-failed": Flag.QUARANTINED,
}
_GPU_ERROR = re.compile(r"nvidia\.com/gpu-(.+-)?error")
_BARRING = ("NoSchedule", "NoExecute")
_CORDON = "node.kubernetes.io/unschedulable"
_DOUBTS = {
    f"node.kubernetes.io/{what}"
    for what in ("not-ready", "unreachable", "memory-pressure", "disk-pressure", "pid-pressure", "network-unavailable")
}
_FENCED = "node.kubernetes.io/out-of-service"
#: Conditions of this kind are well when True (Ready, NetworkingReady, GpuHealthy); all others when False.
_GOOD_WHEN_TRUE = ("Ready", "Healthy")

Item = Mapping[str, str]


def flags_of(labels: Mapping[str, str], spec: Mapping[str, object], conditions: Iterable[Item]) -> dict[Flag, str]:
    """The doubts about a node, each with its reason."""
    taints = [taint for taint in listed(spec, "taints") if taint.get("effect") in _BARRING]
    flags = _ready(conditions, taints)
    if any(taint.get("key") == _FENCED for taint in taints):
        flags[Flag.FAILED] = f"taint {_FENCED}"
    state = labels.get(SENTINEL, "")
    reasons = [f"label {SENTINEL}={plain(state)}"] if state in _SENTINEL_FLAGS else []
    errors = [_named(taint) for taint in taints if _GPU_ERROR.fullmatch(taint.get("key", ""))]
    cordoned = spec.get("unschedulable") is True or any(taint.get("key") == _CORDON for taint in taints)
    if errors or reasons:
        flag = _SENTINEL_FLAGS[state] if reasons and not errors else Flag.QUARANTINED
        flags[flag] = "; ".join(reasons + errors)
    elif cordoned:
        flags[Flag.DRAINING] = "cordoned"
    return flags


def evidence_of(conditions: Iterable[Item]) -> tuple[str, ...]:
    """Each abnormal condition as told, in order of type."""
    told = []
    for condition in conditions:
        kind, status = condition.get("type", ""), condition.get("status", "")
        if kind and status != ("True" if kind.endswith(_GOOD_WHEN_TRUE) else "False"):
            reason, message = condition.get("reason", ""), condition.get("message", "")
            told.append(plain(f"{kind}={status} {reason}{': ' if reason and message else ''}{message}"))
    return tuple(sorted(told))


def listed(item: Mapping[str, object], key: str) -> list[Item]:
    """The texts of each mapping of a list; what is no list, no mapping or no text in it is nobody's condition or taint."""
    value = item.get(key)
    entries = [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
    return [{field: text for field, text in entry.items() if isinstance(text, str)} for entry in entries]


def _ready(conditions: Iterable[Item], taints: list[Item]) -> dict[Flag, str]:
    ready = next((condition for condition in conditions if condition.get("type") == "Ready"), None)
    if ready is None:
        return {Flag.UNREACHABLE: "no condition Ready"}
    status, reason = ready.get("status", "missing"), plain(ready.get("reason", "")) or "no reason given"
    if status == "False":
        return {Flag.SUSPECT: f"Ready is False: {reason}"}
    if status != "True":
        return {Flag.UNREACHABLE: f"Ready is {plain(status)}: {reason}"}
    lingering = sorted({taint["key"] for taint in taints if taint.get("key") in _DOUBTS})
    return {Flag.SUSPECT: f"taint {', '.join(lingering)}"} if lingering else {}


def _named(taint: Item) -> str:
    value = taint.get("value")
    return plain(f"taint {taint.get('key')}={value}" if value else f"taint {taint.get('key')}")
