"""Who uses a simulated fleet by itself, besides people and traces."""

from __future__ import annotations

from clusters.connectors.simulated.arrivals import Generator
from clusters.connectors.simulated.options import fleet_options
from clusters.domain.ids import Instant
from clusters.domain.state import ClusterState
from scheduling.simulator.demo import DemoUsers


def users_of(state: ClusterState, created_at: Instant) -> Generator | None:
    """The generator that the cluster's options ask for."""
    options = fleet_options(state.options)
    return DemoUsers(options, created_at) if options.generator else None
