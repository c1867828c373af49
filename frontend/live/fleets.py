"""What the pages say of the simulated fleet behind a cluster."""

from __future__ import annotations

from clusters.connectors.models import FleetLease
from clusters.domain.ids import SECOND
from clusters.domain.state import SIMULATED, ClusterState
from frontend.live.frames import Fleet


def fleet_of(state: ClusterState) -> Fleet | None:
    """How the fleet keeps up with its clock; None where the cluster is not simulated."""
    if state.connector != SIMULATED:
        return None
    lag = FleetLease.objects.filter(pk=state.name).values_list("lag", flat=True).first() or 0
    return Fleet(speed=state.clock.speed, lag_s=lag / SECOND, paused=state.clock.speed == 0)
