"""The tables of this app, for Django to find; each is defined beside the code that writes it."""

from __future__ import annotations

from clusters.connectors.models import FleetLease, Presence
from clusters.eventlog.models import (
    BooksSample,
    Cluster,
    DomainRecord,
    GpuClaim,
    JobRecord,
    LogDecision,
    LogEvent,
    LogHead,
    LogSnapshot,
    LogSource,
    MaintenanceEntry,
    ProjectionPosition,
    ShapeRecord,
)
from clusters.signals.models import AgentBeat, SignalSource

__all__ = [
    "AgentBeat",
    "BooksSample",
    "Cluster",
    "DomainRecord",
    "FleetLease",
    "GpuClaim",
    "JobRecord",
    "LogDecision",
    "LogEvent",
    "LogHead",
    "LogSnapshot",
    "LogSource",
    "MaintenanceEntry",
    "Presence",
    "ProjectionPosition",
    "ShapeRecord",
    "SignalSource",
]
