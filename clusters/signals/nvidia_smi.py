"""What `nvidia-smi -q -x` prints on a node. Drivers that do not know a value print N/A or Not Supported, which says nothing."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from clusters.domain.signals import SignalKind
from clusters.signals.gpus import Fabric, GpuReading, Recovery, tell
from clusters.signals.kernel import pci_of
from clusters.signals.model import Collector, Parsed

MAX_CHARACTERS = 4 * 1024 * 1024
LOST = "GPU is lost"
#: Begins the codes of its signals.
READER = "smi"

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
_NO_ACTION = "None"
_ACTIVE = "Active"
_SLOWDOWNS = ("hw_thermal_slowdown", "hw_power_brake_slowdown")


def parse(report: str, node: str, *, gpus: int = 0) -> Parsed:
    """The signals of a report; `gpus` is how many the node should have, 0 where nobody knows."""
    found = Collector()
    root = _root(found, report)
    if root is None:
        return found.parsed()
    if root.tag != "nvidia_smi_log":
        found.refuse("", f"the document is {root.tag[:60]!r}; give what nvidia-smi -q -x prints")
        return found.parsed()
    tell(found, READER, node, [_reading(number, gpu) for number, gpu in enumerate(root.findall("gpu"), start=1)], gpus)
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


def _reading(number: int, gpu: ET.Element) -> GpuReading:
    reasons = [element for element in gpu.iter() if element.tag.endswith(_SLOWDOWNS)]
    return GpuReading(
        component=f"gpu {pci_of(gpu.get('id') or _text(gpu, 'pci/pci_bus_id') or str(number))}",
        lost=any((element.text or "").strip() == LOST for element in gpu.iter()),
        remap_failed=_text(gpu, "remapped_rows/remapped_row_failure") == "Yes",
        uncorrectable=sum(_numbers(gpu, "ecc_errors/volatile", "uncorrectable")),
        sram_exceeded=_text(gpu, "ecc_errors/aggregate/sram_threshold_exceeded") == "Yes",
        fabric=_fabric(gpu),
        recovery=_recovery(_told(gpu, "gpu_recovery_action")),
        slowed=tuple(element.tag.partition("reason_")[2] for element in reasons if (element.text or "").strip() == _ACTIVE),
    )


def _fabric(gpu: ET.Element) -> Fabric:
    uuid, clique = _told(gpu, "fabric/clusterUuid"), _told(gpu, "fabric/cliqueId")
    return Fabric(
        state=_told(gpu, "fabric/state"),
        status=_told(gpu, "fabric/status"),
        summary=_told(gpu, "fabric/health/summary"),
        bandwidth=_told(gpu, "fabric/health/bandwidth"),
        route_unhealthy=_text(gpu, "fabric/health/route_unhealthy") == "True",
        configuration=_told(gpu, "fabric/health/incorrect_configuration"),
        clique=f"{uuid}.{clique}" if uuid and clique else "",
    )


def _recovery(action: str) -> Recovery | None:
    if not action:
        return None
    if action == _NO_ACTION:
        return Recovery(action, None)
    return Recovery(action, SignalKind.FATAL if action in _RESETS else SignalKind.SOFT, _RESETS.get(action, ""))


def _numbers(gpu: ET.Element, path: str, word: str) -> Iterator[int]:
    """The numbers below a path whose names hold the word."""
    within = gpu.find(path)
    for element in [] if within is None else within.iter():
        told = (element.text or "").strip()
        if word in element.tag and told.isascii() and told.isdigit() and len(told) < 19:
            yield int(told)


def _text(gpu: ET.Element, path: str) -> str:
    return (gpu.findtext(path) or "").strip()


def _told(gpu: ET.Element, path: str) -> str:
    """The text, or "" where it says nothing."""
    text = _text(gpu, path)
    return "" if text in _SILENT else text
