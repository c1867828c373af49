"""Events of incidents and of the breaker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusters.domain.ids import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentOpened:
    """Several nodes of one domain failed of one cause. Its position gives the incident's id."""

    VERSION: ClassVar[int] = 1
    domain: str
    nodes: tuple[str, ...]
    cause: str
    since: Instant  # the first signal
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentExtended:
    """More nodes failed of the same cause."""

    VERSION: ClassVar[int] = 1
    incident: str
    nodes: tuple[str, ...]
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentClosed:
    """All nodes of the incident are in service again, or gone."""

    VERSION: ClassVar[int] = 1
    incident: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerTripped:
    """Too large a share of the fleet was taken out automatically: nothing more is, until a person resets the breaker."""

    VERSION: ClassVar[int] = 1
    out: int  # nodes that are out by verdict
    wanted: int  # nodes that the verdicts of the moment would take out beside them
    limit: int  # nodes
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerReset:
    """A person has looked: verdicts act again."""

    VERSION: ClassVar[int] = 1
    by: str
    reason: str
