"""Events of the inventory: what exists."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from clusters.domain.errors import InvalidRequest
from clusters.domain.ids import Instant
from clusters.domain.jobs import JobRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterCreated:
    """A cluster came under this control plane."""

    VERSION: ClassVar[int] = 1
    name: str
    connector: str  # which connector acts on it: "simulated" or "none" (inventory only)
    options: dict[str, float] = field(default_factory=dict)  # the connector's options, e.g. the fleet's failure rate

    def __post_init__(self) -> None:
        """Refuse numbers that no log could hold; raises InvalidRequest."""
        for name, value in self.options.items():
            if not math.isfinite(value):
                raise InvalidRequest(name, value, "give a number")


@dataclass(frozen=True, slots=True, kw_only=True)
class RackRegistered:
    """A rack was found, or what is known of it changed."""

    VERSION: ClassVar[int] = 2  # 1 had no `fabric_gbps`
    rack: str
    block: str  # racks that share a spine group
    switch_trays: int = 0  # 9 on NVL72
    fabric_gbps: int | None = None  # gigabits a second of each GPU's own port to the network; None: nobody said


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRegistered:
    """A node was found, or was found again after it had been absent."""

    VERSION: ClassVar[int] = 1
    node: str
    rack: str
    domain: str | None  # None: unknown, a data error (see problem); never part of a slice
    gpus: int
    product: str = ""
    problem: str = ""  # why the node cannot be placed, in words; empty when all is well
    evidence: tuple[str, ...] = ()  # abnormal conditions the source reported, kept as told


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChanged:
    """What is known of a node changed; carries all of it, not the difference."""

    VERSION: ClassVar[int] = 1
    node: str
    rack: str
    domain: str | None
    gpus: int
    product: str = ""
    problem: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAbsent:
    """A node is no longer in the inventory of the source; its rack keeps its place."""

    VERSION: ClassVar[int] = 1
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRemoved:
    """An operator removed a node for good."""

    VERSION: ClassVar[int] = 1
    node: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RackRemoved:
    """A rack was removed for good, after all its nodes; registered again, it is a new one."""

    VERSION: ClassVar[int] = 1
    rack: str
    reason: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSet:
    """From wall time `wall` on, cluster time runs from `cluster_time` at `speed` (0 = paused)."""

    VERSION: ClassVar[int] = 1
    wall: Instant
    cluster_time: Instant
    speed: float

    def __post_init__(self) -> None:
        """Refuse what no clock can do, and no log could hold; raises InvalidRequest."""
        if not 0 <= self.speed < math.inf:
            raise InvalidRequest("speed", self.speed, "give a number of cluster seconds a wall second, 0 to pause")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One planned job of a trace. Duration and outcome are the truth that only the simulated fleet reads."""

    row: int
    offset: int  # microseconds after the plan's base
    request: JobRequest
    duration: int  # microseconds of work
    outcome: str  # "finished", "failed" or "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalsPlanned:
    """Jobs that a simulated fleet will submit at `base` + offset, at most 500 an event."""

    VERSION: ClassVar[int] = 2  # 1 had requests as JobSubmitted 2 had
    plan: str  # digest of the file; with the row it makes each submission unique
    base: Instant
    items: tuple[Arrival, ...]
