"""Incidents: one cause, many symptoms."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.domain.ids import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """Nodes of one domain that failed of one cause, until all are in service again."""

    id: str
    domain: str
    nodes: tuple[str, ...]
    cause: str
    since: Instant  # the first signal
    opened_at: Instant
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """Why verdicts do not act."""

    since: Instant
    out: int
    wanted: int
    limit: int
    reason: str
