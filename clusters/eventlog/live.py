"""The state of each cluster of this installation, one per process."""

from __future__ import annotations

from clusters.eventlog.follow import LiveCluster
from clusters.eventlog.store import default_log

__all__ = ["LiveCluster", "live"]


def live(cluster: str) -> LiveCluster:
    """The cluster's state in this process; raises UnknownCluster."""
    return default_log().live(cluster)
