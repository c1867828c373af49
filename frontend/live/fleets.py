"""What the pages say of the simulated fleet behind a cluster."""

from __future__ import annotations

from clusters.domain.state import ClusterState
from frontend.live.frames import Fleet


def fleet_of(state: ClusterState) -> Fleet | None:
    """None where the cluster is not simulated."""
    if state.connector != "simulated":
        return None
    return Fleet(speed=state.clock.speed, lag_s=0.0, paused=state.clock.speed == 0)
