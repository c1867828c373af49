"""The tables of this app, for Django to find; each is defined beside the code that writes it."""

from __future__ import annotations

from clusters.connectors.models import FleetLease, Presence
from clusters.eventlog.models import (
    Cluster,
    GpuClaim,
    JobRecord,
    LogDecision,
    LogEvent,
    LogHead,
    LogSnapshot,
    LogSource,
    MaintenanceEntry,
    ProjectionPosition,
)

__all__ = [
    "Cluster",
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
]
