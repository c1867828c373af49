"""The text of the DCGM exporter, scraped: `signals(previous, now)`.

DCGM_FI_DEV_XID_ERRORS is absent or 0 at first and then latches the last code, so only its changes say anything, and a repeat cannot be
seen. Errors are counters: what counts is how much they rose since the scrape before; one that fell was reset and counts from 0. A code that
is latched before the first scrape may be of any time: a doubt, not a verdict.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from clusters.domain.signals import SignalKind, SignalScope
from clusters.signals.model import Collector, Parsed, Signal
from clusters.signals.xids import xid_meaning

MAX_SAMPLES = 200_000
_XID, _XID_COUNT = "DCGM_FI_DEV_XID_ERRORS", "DCGM_EXP_XID_ERRORS_COUNT"
#: A metric that every GPU has: one without it is not there.
_PRESENCE = "DCGM_FI_DEV_GPU_TEMP"

_SAMPLE = re.compile(r"(DCGM_[A-Z0-9_]{1,100})\{(.*)\}\s+(\S{1,40})(?:\s+\d{1,20})?\s*")
_NAMED = re.compile(r"DCGM_[A-Z0-9_]{1,100}")
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPE = re.compile(r"\\(.)")


class Rule(NamedTuple):
    """What the rise of a counter says."""

    code: str
    kind: SignalKind
    scope: SignalScope
    text: str
    least: float = 1  # a rise below it says nothing


_NODE, _SHARED = SignalScope.NODE, SignalScope.SHARED
RISES: dict[str, Rule] = {
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": Rule("ecc-dbe", SignalKind.FATAL, _NODE, "double-bit memory errors"),
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": Rule("row-remap-failure", SignalKind.FATAL, _NODE, "rows of memory could not be remapped"),
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": Rule("row-remap", SignalKind.SOFT, _NODE, "rows remapped after uncorrectable errors"),
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": Rule("nvlink-crc", SignalKind.SOFT, _SHARED, "NVLink CRC errors", 100),
    "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL": Rule("nvlink-crc", SignalKind.SOFT, _SHARED, "NVLink CRC errors", 100),
    "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL": Rule("nvlink-replay", SignalKind.SOFT, _SHARED, "NVLink retries", 100),
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL": Rule("nvlink-recovery", SignalKind.SOFT, _SHARED, "NVLink recoveries"),
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": Rule("pcie-replay", SignalKind.SOFT, _NODE, "PCIe retries", 1_000),
    "DCGM_FI_DEV_THERMAL_VIOLATION": Rule("thermal", SignalKind.SOFT, _NODE, "ns slowed down by heat", 1e9),
}
_WATCHED = frozenset((_XID, _XID_COUNT, _PRESENCE, *RISES))

#: A scrape as it is kept: "node|gpu|metric" -> value, and "node|gpu|product".
Scrape = dict[str, float | str]


class Sample(NamedTuple):
    """One line of the exporter that is watched."""

    metric: str
    node: str
    gpu: str
    product: str
    value: float
    xid: str  # of the counter of Xids


def read(text: str, node: str = "") -> tuple[Scrape, Parsed]:
    """What a scrape holds of what is watched; `node` stands in where the lines name no host. Never raises."""
    scrape: Scrape = {}
    found = Collector()
    for number, line in enumerate(text.splitlines()[:MAX_SAMPLES], start=1):
        name = _NAMED.match(line)
        if name is None or name[0] not in _WATCHED:
            continue
        sample = _sample(line, node)
        if sample is None:
            found.refuse(f"line {number}", f"{name[0]} cannot be read; a line is METRIC{{labels}} VALUE")
        elif not sample.node:
            found.refuse(f"line {number}", "it has no label Hostname")
        else:
            metric = f"{sample.metric}:{sample.xid}" if sample.metric == _XID_COUNT else sample.metric
            scrape[f"{sample.node}|{sample.gpu}|{metric}"] = sample.value
            scrape[f"{sample.node}|{sample.gpu}|product"] = sample.product
    if not scrape and not found.problems:
        found.refuse("", "there is no metric of DCGM that is watched; give the text of dcgm-exporter")
    return scrape, found.parsed()


def kept(previous: Mapping[str, float | str], now: Scrape) -> Scrape:
    """What the next scrape is compared with: this one, and of nodes that it lacks what the one before had."""
    nodes = _nodes(now)
    return {**{key: value for key, value in previous.items() if key.partition("|")[0] not in nodes}, **now}


def signals(previous: Mapping[str, float | str], now: Scrape) -> Parsed:
    """What happened between two scrapes of one exporter; of a node that the one before does not have, this is the first."""
    found = Collector()
    known = _nodes(previous)
    for key, value in now.items():
        node, gpu, metric = key.split("|", 2)
        if isinstance(value, str):
            continue
        before = previous.get(key)
        last = before if isinstance(before, float | int) else 0.0
        product = str(now.get(f"{node}|{gpu}|product", ""))
        if metric == _XID:
            _xid(found, (node, gpu, product), value, last, first=node not in known)
        elif node in known:
            _rise(found, (node, gpu, product), metric, value - last if value >= last else value)
    for node, gpu in _gone(previous, now):
        found.add(node, _signal(node, gpu, "gpu-gone", SignalKind.SOFT, _NODE, "the GPU is no longer in the scrape", lasting=True))
    for node, gpu in _gone(now, previous):
        found.add(node, _signal(node, gpu, "gpu-gone", SignalKind.RECOVERED, _NODE, "", lasting=True))
    return found.parsed()


def _xid(found: Collector, where: tuple[str, str, str], value: float, last: float, *, first: bool) -> None:
    node, gpu, product = where
    if value == last or not _is_code(value):
        return
    meaning = xid_meaning(int(value), "", product)
    kind, text = meaning.kind, meaning.worded("")
    if first and kind is not SignalKind.INFO:
        kind, text = SignalKind.SOFT, f"{text}; latched before the first scrape, so it may be old"
    found.add(node, _signal(node, gpu, f"xid:{int(value)}", kind, meaning.scope, text, meaning.action, check=_XID))


def _rise(found: Collector, where: tuple[str, str, str], metric: str, rise: float) -> None:
    node, gpu, product = where
    name, _, code = metric.partition(":")
    if name == _XID_COUNT and rise > 0 and code.isascii() and code.isdigit():
        meaning = xid_meaning(int(code[:5]), "", product)
        found.add(node, _signal(node, gpu, f"xid:{code[:5]}", meaning.kind, meaning.scope, meaning.worded(""), meaning.action, check=_XID))
    elif (rule := RISES.get(metric)) is not None and rise >= rule.least:
        found.add(node, _signal(node, gpu, f"dcgm:{rule.code}", rule.kind, rule.scope, f"{rise:.0f} {rule.text}", check=metric))


def _signal(  # noqa: PLR0913  (what a signal is made of)
    node: str,
    gpu: str,
    code: str,
    kind: SignalKind,
    scope: SignalScope,
    text: str,
    action: str = "",
    *,
    check: str = "",
    lasting: bool = False,
) -> Signal:
    component = f"gpu {gpu}" if gpu else ""
    return Signal(
        node=node,
        code=code,
        kind=kind,
        scope=scope,
        check=check or code,
        component=component,
        text=text,
        action=action,
        lasting=lasting,
    )


def _gone(before: Mapping[str, float | str], now: Mapping[str, float | str]) -> Iterator[tuple[str, str]]:
    """GPUs that the first has and the second has not, of nodes that both have: an exporter that is away says nothing of its GPUs."""
    nodes = _nodes(now)
    for key in before:
        node, gpu, metric = key.split("|", 2)
        if metric == _PRESENCE and node in nodes and key not in now:
            yield node, gpu


def _nodes(scrape: Mapping[str, float | str]) -> set[str]:
    return {key.partition("|")[0] for key in scrape}


def _is_code(value: float) -> bool:
    return 0 < value < 100_000 and value.is_integer()


def _sample(line: str, node: str) -> Sample | None:
    match = _SAMPLE.fullmatch(line)
    if match is None:
        return None
    labels = _labels(match[2])
    try:
        value = float(match[3])
    except ValueError:
        return None
    if labels is None or not math.isfinite(value):
        return None
    gpu = labels.get("UUID") or labels.get("gpu") or ""
    host = labels.get("Hostname") or labels.get("hostname") or node
    return Sample(match[1], _plain(host), _plain(gpu), labels.get("modelName", "")[:60], value, labels.get("xid", ""))


def _plain(text: str) -> str:
    return text.replace("|", "_")[:253]


def _labels(told: str) -> dict[str, str] | None:
    labels: dict[str, str] = {}
    at = 0
    while at < len(told):
        label = _LABEL.match(told, at)
        if label is None:
            return None
        labels[label[1]] = _ESCAPE.sub(lambda escape: "\n" if escape[1] == "n" else escape[1], label[2])
        at = label.end()
    return labels
