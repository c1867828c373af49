"""Reading a cluster for the capacity model: its fleet, what it has now, what was seen of it, and which jobs used it.

`read_cluster_capacity` folds the whole log and is exact at its head, for a command that may take its time; `recorded_capacity` takes what
was seen from the rows that the housekeeping keeps, a moment behind the head, for pages: it costs the same however long the log is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from clusters.domain.clock import cluster_now
from clusters.domain.ids import Instant
from clusters.domain.jobs import TERMINAL
from clusters.domain.slices import cluster_slice
from clusters.domain.state import ClusterState
from clusters.eventlog.capacity_records import domain_records, placed_nodes, shape_key, shape_records
from clusters.eventlog.live import live
from clusters.eventlog.log import wall_now
from clusters.eventlog.models import DomainRecord
from clusters.eventlog.store import default_log
from scheduling.domain.capacity.advice import JobShape
from scheduling.domain.capacity.history import DomainTimes, Level, Observed
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
    domains = domain_levels(state)
    return ClusterCapacity(
        fleet=Fleet.of(size for size, _ in domains),
        live=Live(domains=domains, observed=watch.history.observed(now), slice_size=_policy_size(state)),
        mix=watch.mix(now),
    )


def recorded_capacity(name: str) -> ClusterCapacity:
    """What the rows say, and what the state adds to them; raises UnknownCluster."""
    with live(name).reading() as state:
        now = _now(state)
        domains = domain_levels(state)
        running, size = _running(state, now), _policy_size(state)
    shapes: Counter[str] = Counter({row.shape: row.node_time for row in shape_records(name)})
    shapes.update(running)
    return ClusterCapacity(
        fleet=Fleet.of(size for size, _ in domains),
        live=Live(domains=domains, observed=_observed(list(domain_records(name)), now), slice_size=size),
        mix={_shape(key): time for key, time in shapes.items()},
    )


def domain_levels(state: ClusterState) -> tuple[tuple[int, int], ...]:
    """(nodes, available nodes) of each domain that slices may be placed in; the caller holds the state."""
    space, topology = state.space, state.topology
    return tuple(
        (group.size, space.placeable[domain].bit_count()) for domain, group in enumerate(topology.domains) if topology.known[domain]
    )


def _policy_size(state: ClusterState) -> int | None:
    return cluster_slice(state.topology, state.policy) if state.topology.nodes else None


def _running(state: ClusterState, now: Instant) -> Counter[str]:
    """Node-time of the placements that have not ended."""
    found: Counter[str] = Counter()
    for job in state.jobs.values():
        nodes = placed_nodes(job)
        if nodes and job.placed_at is not None and job.state not in TERMINAL:
            found[shape_key(job.request, nodes)] += nodes * max(0, now - job.placed_at)
    return found


def _observed(rows: list[DomainRecord], now: Instant) -> Observed:
    return Observed(
        since=min((row.first for row in rows), default=None),
        until=max([now, *(row.since for row in rows)]),
        domains={row.domain: _times(row, now) for row in rows},
    )


def _times(row: DomainRecord, now: Instant) -> DomainTimes:
    spells = {Level(*map(int, level.split("/"))): time for level, time in json.loads(row.spells).items()}
    if row.nodes and now > row.since:
        level = Level(row.nodes, row.unavailable)
        spells[level] = spells.get(level, 0) + now - row.since
    return DomainTimes(spells=spells, interruptions=row.interruptions, whole_outages=row.whole_outages)


def _shape(key: str) -> JobShape:
    nodes, unit, max_slice, tail = key.split(":")
    return JobShape(nodes=int(nodes), unit=int(unit), max_slice=int(max_slice) if max_slice else None, tail=tail == "1")


def _now(state: ClusterState) -> Instant:
    """Where the observation ends: a simulated fleet has no time after its last fact, whatever the wall clock says."""
    return state.frontier or cluster_now(state, wall_now())
