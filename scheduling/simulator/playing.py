"""Handing a trace to a fleet: the plan of its arrivals, and the clock that they are played at.

Sources and ids are made of the file's digest, so a file is played once on a cluster, whoever asks for it again.
"""

from __future__ import annotations

from clusters.domain.clock import cluster_now
from clusters.domain.errors import InvalidRequest, SourceConflict
from clusters.domain.events import NewEvent
from clusters.domain.inventory_events import ArrivalsPlanned, ClockSet
from clusters.domain.state import SIMULATED, ClusterState
from clusters.eventlog.log import wall_now
from clusters.eventlog.store import append_facts, default_log
from scheduling.simulator.planning import TracePlan, check_options, plan_trace
from scheduling.simulator.traces import Trace

#: Arrivals of one event: about 50 kB.
ITEMS = 200


def trace_play(*, cluster: str, trace: Trace, speed: float, load: float | None = None, days: float | None = None) -> TracePlan | None:
    """Plan the trace on the cluster and set its clock; None where the file is being played, or was, already.

    A plan without jobs changes nothing. Raises InvalidRequest, UnknownCluster.
    """
    check_options(speed=speed, load=load, days=days)
    with default_log().live(cluster).reading() as state:
        if state.connector != SIMULATED:
            raise InvalidRequest("cluster", cluster, "give a simulated cluster: only its fleet can play a trace")
        if trace.digest in state.plans:
            return None
        plan = plan_trace(state, trace, load=load, days=days)
        facts = _facts(state, trace, plan, speed)
    if not plan.items:
        return plan
    try:
        append_facts(cluster, facts)
    except SourceConflict:
        with default_log().live(cluster).reading() as state:
            if trace.digest in state.plans:  # somebody else has submitted the file in the meantime
                return None
        raise
    return plan


def _facts(state: ClusterState, trace: Trace, plan: TracePlan, speed: float) -> list[NewEvent]:
    wall = wall_now()
    base = cluster_now(state, wall)
    source = f"trace:{trace.digest[:12]}"
    facts = [
        NewEvent(ArrivalsPlanned(plan=trace.digest, base=base, items=plan.items[first : first + ITEMS]), base, source, f"plan/{first}")
        for first in range(0, len(plan.items), ITEMS)
    ]
    clock = ClockSet(wall=wall, cluster_time=base, speed=speed)
    return [*facts, NewEvent(clock, base, source, "clock")]
