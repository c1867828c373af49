"""What a node's GPUs say of themselves, whoever read it: lost GPUs, the fabric, memory, the recovery action, heat.

A reading is a snapshot: each check of each GPU stands or is taken back. A fabric that is Completed and Success can be unhealthy all the
same (its health summary says so), or be without resources; what a driver does not know is empty here, and says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clusters.domain.signals import SignalKind, SignalScope
from clusters.signals.model import Collector, Signal


class Fabric(NamedTuple):
    """What a GPU says of its NVLink fabric, in the words of nvidia-smi; "" where it says nothing."""

    state: str = ""
    status: str = ""  # counts only where there is a state
    summary: str = ""
    bandwidth: str = ""
    route_unhealthy: bool = False
    configuration: str = ""
    clique: str = ""  # which partition of which fabric


NO_FABRIC = Fabric()


class Recovery(NamedTuple):
    """What the driver wants done before the GPU can be used again."""

    name: str
    kind: SignalKind | None  # None: nothing
    action: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReading:
    """One GPU at one moment."""

    component: str  # "gpu 0008:01:00"
    lost: bool = False  # to the driver: nothing else of it is known
    remap_failed: bool = False
    uncorrectable: int = 0  # memory errors since the driver started
    sram_exceeded: bool = False
    fabric: Fabric = NO_FABRIC
    recovery: Recovery | None = None  # None: the driver does not know
    slowed: tuple[str, ...] = ()  # reasons of the hardware's own


class _Finding(NamedTuple):
    """What a check came to: a kind of SignalKind's, or None where all is well."""

    check: str
    kind: SignalKind | None
    text: str = ""
    scope: SignalScope = SignalScope.NODE
    action: str = ""
    evidence: tuple[str, ...] = ()


def tell(found: Collector, reader: str, node: str, readings: Sequence[GpuReading], expected: int) -> None:
    """Add the signals of all GPUs; `reader` begins their codes, `expected` is how many the node should have, 0 where nobody knows."""
    _add(found, reader, node, "", _count(len(readings), expected))
    for reading in readings:
        for finding in _findings(reading):
            _add(found, reader, node, reading.component, finding)


def _count(seen: int, expected: int) -> _Finding:
    """GPUs that are not in the reading are lost to the driver."""
    kind = SignalKind.FATAL if seen < expected else None
    return _Finding("gpu count", kind, f"{seen} of {expected} GPUs are there", action="RESTART_BM")


def _add(found: Collector, reader: str, node: str, component: str, finding: _Finding) -> None:
    found.add(
        component,
        Signal(
            node=node,
            code=f"{reader}:{finding.check.replace(' ', '-')}",
            kind=finding.kind or SignalKind.RECOVERED,
            scope=finding.scope,
            check=finding.check,
            component=component,
            text=finding.text if finding.kind else "",
            action=finding.action if finding.kind else "",
            lasting=True,
            evidence=finding.evidence if finding.kind else (),
        ),
    )


def _findings(gpu: GpuReading) -> Iterator[_Finding]:
    yield _Finding("gpu lost", SignalKind.FATAL if gpu.lost else None, "the driver has lost the GPU", action="RESTART_BM")
    if gpu.lost:  # the rest of what is told is of before
        return
    yield from _memory(gpu)
    yield _fabric(gpu.fabric)
    yield _bandwidth(gpu.fabric)
    if gpu.recovery is not None:
        name, kind, action = gpu.recovery
        yield _Finding("recovery action", kind, f"recovery action: {name}", action=action)
    kind = SignalKind.SOFT if gpu.slowed else None
    yield _Finding("slowdown", kind, f"slowed down: {', '.join(sorted(gpu.slowed))}")


def _memory(gpu: GpuReading) -> Iterator[_Finding]:
    kind = SignalKind.FATAL if gpu.remap_failed else None
    yield _Finding("row remap", kind, "rows of memory could not be remapped", action="RESET_GPU")
    count = f"{gpu.uncorrectable} uncorrectable memory errors since the driver started"
    text = "the limit of SRAM errors is exceeded" if gpu.sram_exceeded else count
    kind = SignalKind.FATAL if gpu.sram_exceeded else SignalKind.SOFT if gpu.uncorrectable else None
    yield _Finding("memory errors", kind, text, action="RUN_FIELDDIAG")


def _fabric(fabric: Fabric) -> _Finding:
    """Whether the GPU can reach the others of its domain at all."""
    doubts = []
    if fabric.state not in ("", "Completed"):
        doubts.append(f"state is {fabric.state}")
    if fabric.state and fabric.status not in ("", "Success"):
        doubts.append(f"status is {fabric.status}")
    if fabric.summary not in ("", "Healthy", "Limited Capacity"):
        doubts.append(f"summary is {fabric.summary}")
    if fabric.route_unhealthy:
        doubts.append("a route is unhealthy")
    if fabric.configuration not in ("", "None"):
        doubts.append(f"configuration: {fabric.configuration}")
    kind = SignalKind.SOFT if doubts else None
    return _Finding("fabric", kind, f"fabric: {', '.join(doubts)}", SignalScope.SHARED, evidence=_clique(fabric))


def _bandwidth(fabric: Fabric) -> _Finding:
    """Whether it reaches them at full speed."""
    short = fabric.bandwidth not in ("", "Full") or fabric.summary == "Limited Capacity"
    text = f"NVLink bandwidth is {fabric.bandwidth or 'limited'}"
    return _Finding("fabric bandwidth", SignalKind.DEGRADED if short else None, text, SignalScope.SHARED, evidence=_clique(fabric))


def _clique(fabric: Fabric) -> tuple[str, ...]:
    return (f"clique {fabric.clique}",) if fabric.clique else ()
