"""What the cost model needs to know of a cluster of this installation."""

from __future__ import annotations

from clusters.eventlog.live import live
from scheduling.domain.parallelism.advice import Fleet
from scheduling.domain.parallelism.cluster import fleet_of, network_of
from scheduling.domain.parallelism.report import FabricSource


def cluster_fleet(name: str) -> Fleet:
    """The usual node and the usual domain of a cluster; raises UnknownCluster, and InvalidRequest where it has no nodes."""
    with live(name).reading() as state:
        return fleet_of(state)


def cluster_network(name: str, given: float | None) -> tuple[float, FabricSource]:
    """Gigabits a second of a GPU's own port in a cluster, and who says so; raises UnknownCluster."""
    with live(name).reading() as state:
        return network_of(state, given)
