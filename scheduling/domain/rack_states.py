"""Which work racks take: what operators say, what follows when a rack has emptied, and when it will have; and racks that are taken away.

What runs in a rack goes on in every state. A rack that drains is out of service once its last work has left. It is removed only when no
work has any of its nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clusters.domain.commands import RemoveRack, SetRackState
from clusters.domain.decision import Decision, Refusal
from clusters.domain.health_events import RackStateChanged
from clusters.domain.ids import Instant
from clusters.domain.inventory_events import NodeRemoved, RackRemoved
from clusters.domain.racks import RackState
from clusters.domain.state import ClusterState, Job, Node
from clusters.domain.topology import natural_key
from scheduling.domain.limits import planned_end

#: So many jobs are named that keep a rack from being removed.
NAMED = 5


def set_rack_state(state: ClusterState, command: SetRackState) -> Decision | Refusal:
    """The rack's new state, if it is one."""
    rack = state.racks.get(command.rack)
    if rack is None:
        return Refusal(code="unknown", message=f"there is no rack {command.rack} in this cluster")
    limited = command.state is RackState.NO_NEW_LONG_JOBS
    if limited != (command.until is not None):
        expected = "say when the maintenance begins" if limited else "leave it out: only no_new_long_jobs has a time"
        counts: dict[str, int | str] = {"field": "until", "value": command.until or "", "expected": expected}
        return Refusal(code="invalid", message=f"until: {expected}", counts=counts)
    if (rack.service.state, rack.service.until) == (command.state, command.until):
        return Refusal(code="state", message=f"rack {rack.name} is {command.state.replace('_', ' ')} already")
    reason = command.reason or f"set by {command.by}"
    event = RackStateChanged(rack=rack.name, state=command.state, until=command.until, reason=reason, by=command.by)
    return Decision(events=(event,))


def remove_rack(state: ClusterState, command: RemoveRack) -> Decision | Refusal:
    """All its nodes and then the rack itself are gone."""
    rack = state.racks.get(command.rack)
    if rack is None:
        return Refusal(code="unknown", message=f"there is no rack {command.rack} in this cluster")
    if jobs := jobs_in(state, rack.name):
        names = ", ".join(job.id for job in jobs[:NAMED]) + (" ..." if len(jobs) > NAMED else "")
        message = f"work has nodes in rack {rack.name} ({len(jobs)}: {names}); drain it and wait until that has left"
        return Refusal(code="state", message=message)
    reason = command.reason or f"removed by {command.by}"
    nodes = sorted((node.name for node in state.nodes.values() if node.rack == rack.name), key=natural_key)
    gone = RackRemoved(rack=rack.name, reason=reason, by=command.by)
    return Decision(events=(*(NodeRemoved(node=name, reason=f"its rack was removed: {reason}") for name in nodes), gone))


def emptied(state: ClusterState) -> Iterator[RackStateChanged]:
    """Racks that drain, and in which nothing runs any more."""
    for name in sorted(state.closed_racks):
        service = state.racks[name].service
        if service.state is RackState.DRAINING and not jobs_in(state, name):
            yield RackStateChanged(rack=name, state=RackState.OUT, reason=service.reason, by=service.by)


def jobs_in(state: ClusterState, rack: str) -> list[Job]:
    """The jobs that have nodes in the rack, oldest first."""
    return jobs_on(state, (node for node in state.nodes.values() if node.rack == rack))


def jobs_on(state: ClusterState, nodes: Iterable[Node]) -> list[Job]:
    """The jobs that have some of these nodes, or GPUs of them, oldest first."""
    names = {name for node in nodes for name in ((node.job,) if node.job else node.shares)}
    return sorted((state.jobs[name] for name in names), key=lambda job: job.seq)


def last_end(state: ClusterState, jobs: Iterable[Job], now: Instant) -> Instant:
    """When the last of these will have left its nodes, as far as limits and expectations tell; `now` for none."""
    return max((planned_end(job, state.policy, now) for job in jobs), default=now)
