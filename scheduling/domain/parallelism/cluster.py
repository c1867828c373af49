"""What the cost model needs to know of a cluster, read off its state. The caller holds the state."""

from __future__ import annotations

from collections import Counter

from clusters.domain.state import ClusterState
from scheduling.domain.parallelism.advice import Fleet
from scheduling.domain.parallelism.fabric import FABRIC_GBPS
from scheduling.domain.parallelism.report import FabricSource


def fleet_of(state: ClusterState) -> Fleet:
    """The usual node and the usual domain; raises InvalidRequest where there are no nodes."""
    return Fleet(gpus_per_node=state.topology.usual_gpus, domain_nodes=state.topology.usual_size)


def network_of(state: ClusterState, given: float | None) -> tuple[float, FabricSource]:
    """Gigabits a second of a GPU's own port, and who says so: as given, else as most racks have it (the slower of equals), else 400."""
    if given is not None:
        return given, FabricSource.GIVEN
    told = Counter(rack.fabric_gbps for rack in state.racks.values() if rack.fabric_gbps is not None)
    if not told:
        return FABRIC_GBPS, FabricSource.DEFAULT
    return float(max(told, key=lambda gbps: (told[gbps], -gbps))), FabricSource.INVENTORY
