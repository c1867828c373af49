"""A fleet made anew from its cluster: from the state at some position, and from the events of the jobs that still live.

Machines and the count of their failures stand in the state; how far each job has come follows from its own events; the failures to come
follow from the seed. One thing is told a little otherwise: a loss that somebody else reported with fencing, and that was repaired by a swap
since, counts from the swap, later by the time of a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from clusters.connectors.simulated.arrivals import Generator
from clusters.connectors.simulated.fleet import SimulatedFleet
from clusters.connectors.simulated.options import fleet_options
from clusters.domain.events import Event
from clusters.domain.health import Flag
from clusters.domain.ids import Instant
from clusters.domain.inventory_events import ArrivalsPlanned
from clusters.domain.state import ClusterState, Node


def restore(
    state: ClusterState,
    *,
    created_at: Instant,
    about: Callable[[str], Iterable[Event]],
    at: Callable[[int], Event],
    generator: Generator | None = None,
) -> SimulatedFleet:
    """The fleet as it was after `state.seq`. `about` gives a job's events in order, `at` the event of a position."""
    fleet = SimulatedFleet(fleet_options(state.options), generator)
    for node in state.nodes.values():
        _add(fleet, node)
    fleet.machines.wear_from(created_at)
    for plan, positions in state.plans.items():
        _plan(fleet, (at(position) for position in positions), state.arrived.get(plan, 0))
    for plan, rows in state.arrived.items():
        fleet.arrivals.resumes(plan, rows)
    for name in state.jobs:
        for event in about(name):
            if event.seq <= state.seq:
                fleet.follow(event)
        _drop_lost(fleet, state, name)
    fleet.resume(state.frontier, created_at)
    return fleet


def _add(fleet: SimulatedFleet, node: Node) -> None:
    down = _down_since(node)
    repair = down is not None and any(mark.on for (flag, _), mark in node.marks.items() if flag is Flag.IN_REPAIR)
    asked = node.asked_at is not None
    fleet.machines.add(node.name, failures=node.failures, checks=node.checks - asked, down_since=down, in_repair=repair)
    if node.asked_at is not None:
        fleet.machines.check(node.name, node.checks, node.asked_at)


def _plan(fleet: SimulatedFleet, events: Iterable[Event], already: int) -> None:
    for event in events:
        if isinstance(event.payload, ArrivalsPlanned):
            fleet.arrivals.planned(event.payload, already)


def _drop_lost(fleet: SimulatedFleet, state: ClusterState, name: str) -> None:
    """Nodes that left the job by the report of somebody else, and have not been replaced yet."""
    for node in fleet.workload.nodes_of(name):
        if node not in state.jobs[name].held_nodes:
            known = state.nodes.get(node)
            since = _down_since(known) if known is not None else None
            fleet.workload.lost(name, (node,), state.frontier if since is None else since)


def _down_since(node: Node) -> Instant | None:
    down = [mark.since for (flag, _), mark in node.marks.items() if flag in (Flag.FAILED, Flag.IN_REPAIR) and mark.on]
    return min(down, default=None)
