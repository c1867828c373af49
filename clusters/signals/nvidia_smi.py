"""What `nvidia-smi -q -x` prints on a node: lost GPUs, the fabric, memory, the recovery action, heat.

The report is a snapshot: each check of each GPU stands or is taken back. A fabric that is Completed and Success can be unhealthy all the
same (its health summary says so), or be without resources; drivers that do not know a value print N/A or Not Supported, which says nothing.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import NamedTuple

from clusters.domain.signals import SignalKind, SignalScope
from clusters.signals.kernel import pci_of
from clusters.signals.model import Collector, Parsed, Signal

MAX_CHARACTERS = 4 * 1024 * 1024
LOST = "GPU is lost"

#: No report has entities of its own; a document that does could grow without end when it is read.
_ENTITY = re.compile(r"<!ENTITY|<!DOCTYPE[^>]*\[", re.IGNORECASE)
_SILENT = frozenset(("", "N/A", "Not Supported", "Unknown Error", "Requested functionality has been deprecated"))
_RESETS = {
    "Reset": "RESET_GPU",
    "GPU Reset Required": "RESET_GPU",
    "Reboot": "RESTART_BM",
    "Node Reboot Required": "RESTART_BM",
    "Drain and Reset": "DRAIN_AND_RESET",
}
_NO_ACTION = frozenset(("None",))
_ACTIVE = "Active"


class _Finding(NamedTuple):
    """What a check of one GPU came to: a kind of SignalKind's, or None where all is well."""

    check: str
    kind: SignalKind | None
    text: str = ""
    scope: SignalScope = SignalScope.NODE
    action: str = ""


def parse(report: str, node: str, *, gpus: int = 0) -> Parsed:
    """The signals of a report; `gpus` is how many the node should have, 0 where nobody knows."""
    found = Collector()
    root = _root(found, report)
    if root is None:
        return found.parsed()
    if root.tag != "nvidia_smi_log":
        found.refuse("", f"the document is {root.tag[:60]!r}; give what nvidia-smi -q -x prints")
        return found.parsed()
    listed = root.findall("gpu")
    _count(found, node, len(listed), gpus)
    for number, gpu in enumerate(listed, start=1):
        component = f"gpu {pci_of(gpu.get('id') or _text(gpu, 'pci/pci_bus_id') or str(number))}"
        for finding in _findings(gpu):
            _add(found, f"gpu {number}", node, component, finding)
    return found.parsed()


def _root(found: Collector, report: str) -> ET.Element | None:
    if len(report) > MAX_CHARACTERS:
        found.refuse("", f"the report has more than {MAX_CHARACTERS // 2**20} Mi characters")
        return None
    if _ENTITY.search(report):
        found.refuse("", "the report defines entities, which nvidia-smi never does")
        return None
    try:
        return ET.fromstring(report)
    except (ET.ParseError, ValueError) as error:  # ValueError: half a character
        found.refuse("", f"the report is not XML: {error}")
        return None


def _count(found: Collector, node: str, seen: int, expected: int) -> None:
    """GPUs that are not in the report are lost to the driver."""
    missing = expected - seen
    text = f"{seen} of {expected} GPUs are there"
    _add(found, "", node, "", _Finding("gpu count", SignalKind.FATAL if missing > 0 else None, text, action="RESTART_BM"))


def _add(found: Collector, position: str, node: str, component: str, finding: _Finding) -> None:
    found.add(
        position,
        Signal(
            node=node,
            code=f"smi:{finding.check.replace(' ', '-')}",
            kind=finding.kind or SignalKind.RECOVERED,
            scope=finding.scope,
            check=finding.check,
            component=component,
            text=finding.text if finding.kind else "",
            action=finding.action if finding.kind else "",
            lasting=True,
        ),
    )


def _findings(gpu: ET.Element) -> Iterator[_Finding]:
    lost = any((element.text or "").strip() == LOST for element in gpu.iter())
    yield _Finding("gpu lost", SignalKind.FATAL if lost else None, "the driver has lost the GPU", action="RESTART_BM")
    if lost:  # the rest of what is printed is of before
        return
    yield from _memory(gpu)
    yield _fabric(gpu)
    yield _bandwidth(gpu)
    action = _text(gpu, "gpu_recovery_action")
    if action not in _SILENT:
        needed = None if action in _NO_ACTION else SignalKind.FATAL if action in _RESETS else SignalKind.SOFT
        yield _Finding("recovery action", needed, f"recovery action: {action}", action=_RESETS.get(action, ""))
    reasons = [element for element in gpu.iter() if element.tag.endswith(("hw_thermal_slowdown", "hw_power_brake_slowdown"))]
    slow = sorted(element.tag.partition("reason_")[2] for element in reasons if (element.text or "").strip() == _ACTIVE)
    yield _Finding("slowdown", SignalKind.SOFT if slow else None, f"slowed down: {', '.join(slow)}")


def _memory(gpu: ET.Element) -> Iterator[_Finding]:
    failed = _text(gpu, "remapped_rows/remapped_row_failure") == "Yes"
    yield _Finding("row remap", SignalKind.FATAL if failed else None, "rows of memory could not be remapped", action="RESET_GPU")
    errors = sum(_numbers(gpu, "ecc_errors/volatile", "uncorrectable"))
    exceeded = _text(gpu, "ecc_errors/aggregate/sram_threshold_exceeded") == "Yes"
    text = "the limit of SRAM errors is exceeded" if exceeded else f"{errors} uncorrectable memory errors since the driver started"
    yield _Finding("memory errors", SignalKind.FATAL if exceeded else SignalKind.SOFT if errors else None, text, action="RUN_FIELDDIAG")


def _fabric(gpu: ET.Element) -> _Finding:
    """Whether the GPU can reach the others of its domain at all."""
    state, status = _text(gpu, "fabric/state"), _text(gpu, "fabric/status")
    health = {name: _text(gpu, f"fabric/health/{name}") for name in ("summary", "route_unhealthy", "incorrect_configuration")}
    doubts = []
    if state not in (*_SILENT, "Completed"):
        doubts.append(f"state is {state}")
    if state not in _SILENT and status not in (*_SILENT, "Success"):
        doubts.append(f"status is {status}")
    if health["summary"] not in (*_SILENT, "Healthy", "Limited Capacity"):
        doubts.append(f"summary is {health['summary']}")
    if health["route_unhealthy"] == "True":
        doubts.append("a route is unhealthy")
    if health["incorrect_configuration"] not in (*_SILENT, "None"):
        doubts.append(f"configuration: {health['incorrect_configuration']}")
    return _Finding("fabric", SignalKind.SOFT if doubts else None, f"fabric: {', '.join(doubts)}", SignalScope.SHARED)


def _bandwidth(gpu: ET.Element) -> _Finding:
    """Whether it reaches them at full speed."""
    bandwidth, summary = _text(gpu, "fabric/health/bandwidth"), _text(gpu, "fabric/health/summary")
    short = bandwidth not in (*_SILENT, "Full") or summary == "Limited Capacity"
    return _Finding("fabric bandwidth", SignalKind.DEGRADED if short else None, f"NVLink bandwidth is {bandwidth}", SignalScope.SHARED)


def _numbers(gpu: ET.Element, path: str, word: str) -> Iterator[int]:
    """The numbers below a path whose names hold the word."""
    within = gpu.find(path)
    for element in [] if within is None else within.iter():
        told = (element.text or "").strip()
        if word in element.tag and told.isascii() and told.isdigit() and len(told) < 19:
            yield int(told)


def _text(gpu: ET.Element, path: str) -> str:
    return (gpu.findtext(path) or "").strip()
