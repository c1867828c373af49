"""Reading a cluster's log for the capacity model: its fleet, what it has now, what was seen of it, and which jobs used it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusters.domain.clock import cluster_now
from clusters.domain.ids import Instant
from clusters.domain.state import ClusterState
from clusters.eventlog.log import wall_now
from clusters.eventlog.store import default_log
from scheduling.domain.capacity.advice import JobShape
from scheduling.domain.capacity.model import Fleet
from scheduling.domain.capacity.report import Live
from scheduling.domain.capacity.watch import watch_log


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterCapacity:
    """What one cluster's log says."""

    fleet: Fleet
    live: Live
    mix: Mapping[JobShape, float]  # node-time of each shape of job


def read_cluster_capacity(name: str) -> ClusterCapacity:
    """Fold the cluster's whole log; raises UnknownCluster."""
    watch, state = watch_log(default_log().read(name))
    now = _now(state)
    space, topology = state.space, state.topology
    domains = tuple(
        (group.size, space.placeable[domain].bit_count()) for domain, group in enumerate(topology.domains) if topology.known[domain]
    )
    return ClusterCapacity(
        fleet=Fleet.of(size for size, _ in domains),
        live=Live(domains=domains, observed=watch.history.observed(now)),
        mix=watch.mix(now),
    )


def _now(state: ClusterState) -> Instant:
    """Where the observation ends: a simulated fleet has no time after its last fact, whatever the wall clock says."""
    return state.frontier or cluster_now(state, wall_now())
