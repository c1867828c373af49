"""What the cost model needs to know of a cluster."""

from __future__ import annotations

from clusters.domain.state import ClusterState
from clusters.eventlog.live import live
from scheduling.domain.parallelism.advice import Fleet


def cluster_fleet(name: str) -> Fleet:
    """The usual node and the usual domain of a cluster; raises UnknownCluster, and InvalidRequest where it has no nodes."""
    with live(name).reading() as state:
        return fleet_of(state)


def fleet_of(state: ClusterState) -> Fleet:
    """The same of a state; raises InvalidRequest."""
    return Fleet(gpus_per_node=state.topology.usual_gpus, domain_nodes=state.topology.usual_size)
