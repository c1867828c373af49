"""Events of health. Each sets or clears a flag of its own source; a node's condition is the first flag set (see books)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusters.domain.health import Flag
from clusters.domain.ids import Instant
from clusters.domain.racks import RackState


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFailed:
    """A source says the node has failed. `fencing`: its work is known to be dead, so it leaves its job at once."""

    VERSION: ClassVar[int] = 1
    node: str
    reason: str
    fencing: bool = False
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecovered:
    """A source takes back what it said: its own failed, unreachable, suspect and degraded, or just the flags that are named."""

    VERSION: ClassVar[int] = 2  # 1 named no flags
    node: str
    reason: str
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSuspected:
    """A source doubts the node; it gets no new work."""

    VERSION: ClassVar[int] = 1
    node: str
    reason: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUnreachable:
    """A source cannot reach the node. Unreachable is not dead: work on it stays."""

    VERSION: ClassVar[int] = 1
    node: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDegraded:
    """The node works with less than its full strength; it may still take work."""

    VERSION: ClassVar[int] = 1
    node: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeQuarantined:
    """The node is kept out until somebody, or a rule, releases it."""

    VERSION: ClassVar[int] = 1
    node: str
    owner: str
    reason: str
    exit_rule: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReleased:
    """Quarantine ended, whoever imposed it. A person's word also puts a repaired node that waits for its check into service."""

    VERSION: ClassVar[int] = 1
    node: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDraining:
    """The node finishes what it runs and takes nothing new."""

    VERSION: ClassVar[int] = 1
    node: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUndrained:
    """Draining ended, whoever asked for it."""

    VERSION: ClassVar[int] = 1
    node: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RackStateChanged:
    """A rack takes all work, or only some, or none; what runs in it goes on."""

    VERSION: ClassVar[int] = 1
    rack: str
    state: RackState
    until: Instant | None = None  # when its maintenance begins: work that ends before may still start
    reason: str = ""
    by: str = ""  # a person, or the id of the incident


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairStarted:
    """Somebody works on the node."""

    VERSION: ClassVar[int] = 1
    node: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairFinished:
    """The node is repaired: clears in repair, and failed of every source. Where the policy says so, it is checked before it takes work."""

    VERSION: ClassVar[int] = 1
    node: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCheckRequested:
    """The engine is to check a repaired node."""

    VERSION: ClassVar[int] = 1
    node: str
    number: int  # from 1, of the checks asked for on this node: what the answer names


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChecked:
    """What the check found. The answer to an older request, or of a node that waits for none, changes nothing."""

    VERSION: ClassVar[int] = 1
    node: str
    number: int  # of the request
    passed: bool
    detail: str = ""  # what was run and how it ended, for people
