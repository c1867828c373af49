"""How events change the fleet: what it tells itself, and what others decide or say.

The log decides in which order things happened. What the fleet tells may come to stand behind something that it has not seen: the end of a
job behind the swap of one of its nodes, which makes it the report of an older generation that does not count. So the fleet takes in what
it told once more when it stands in the log; at the time of telling, only what the same instant goes on with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clusters.connectors.base import Work
from clusters.connectors.effects import carry_out, effect_of
from clusters.domain import health_events as health
from clusters.domain import inventory_events as inventory
from clusters.domain import job_events as jobs
from clusters.domain.events import Payload, PolicyActivated
from clusters.domain.ids import Instant, job_id

if TYPE_CHECKING:
    from clusters.connectors.simulated.fleet import SimulatedFleet

_ENDS = (jobs.JobFinished, jobs.JobFailed, jobs.JobCancelled)
_REPAIRS = (health.RepairStarted, health.RepairFinished, health.NodeChecked)

_Handler = Callable[["SimulatedFleet", Any, Instant], None]


def tell(fleet: SimulatedFleet, payload: Payload, at: Instant) -> None:
    """The fleet is about to say this."""
    if isinstance(payload, _ENDS):
        fleet.workload.ending(payload.job)
    elif isinstance(payload, jobs.WorkStopped) and fleet.workload.is_ending(payload.job):
        return
    elif not isinstance(payload, _REPAIRS):
        take_in(fleet, payload, at)


def take_in(fleet: SimulatedFleet, payload: Payload, at: Instant, seq: int | None = None) -> None:
    """Let the fleet know what happened; `seq` once the event stands in the log."""
    if isinstance(payload, jobs.JobSubmitted):
        _submitted(fleet, payload, at, seq)
        return
    handler = _HANDLERS.get(type(payload))
    if handler is not None:
        handler(fleet, payload, at)
    effect = effect_of(payload)
    if effect is not None:
        carry_out(effect, fleet, fleet.workload.work_of)


def _submitted(fleet: SimulatedFleet, payload: jobs.JobSubmitted, at: Instant, seq: int | None) -> None:
    if payload.arrival:
        fleet.arrivals.submitted(payload.arrival, at)
    if seq is None:
        return
    fleet.know(Work(job=job_id(seq), request=payload.request, arrival=payload.arrival), held=payload.request.held)
    if payload.arrival:
        fleet.arrivals.known(payload.arrival)


def _failed(fleet: SimulatedFleet, payload: health.NodeFailed, at: Instant) -> None:
    fleet.machines.fail(payload.node, at)
    if payload.fencing:
        fleet.workload.vanished(payload.node, at)
    else:
        fleet.workload.dead(payload.node, at)


def _removed(fleet: SimulatedFleet, payload: inventory.NodeRemoved, at: Instant) -> None:
    fleet.machines.remove(payload.node)
    fleet.workload.vanished(payload.node, at)


def _ended(fleet: SimulatedFleet, payload: jobs.JobFinished | jobs.JobFailed | jobs.JobCancelled, at: Instant) -> None:
    generation = None if isinstance(payload, jobs.JobCancelled) else payload.generation
    fleet.workload.ended(payload.job, generation, at)


def _policy(fleet: SimulatedFleet, payload: PolicyActivated, _: Instant) -> None:
    if not payload.policy.check_repaired:
        fleet.machines.uncheck_all()


def _wants(fleet: SimulatedFleet, payload: jobs.JobReleased | jobs.JobRequeued, _: Instant) -> None:
    fleet.workload.waits(payload.job, wants=True)


_HANDLERS: dict[type, _Handler] = {
    inventory.NodeRegistered: lambda fleet, payload, _: fleet.machines.add(payload.node),
    inventory.NodeRemoved: _removed,
    inventory.ArrivalsPlanned: lambda fleet, payload, _: fleet.arrivals.planned(payload),
    health.NodeFailed: _failed,
    health.RepairStarted: lambda fleet, payload, at: fleet.machines.repair_started(payload.node, at),
    health.RepairFinished: lambda fleet, payload, _: fleet.machines.repaired(payload.node),
    health.NodeChecked: lambda fleet, payload, at: fleet.machines.checked(payload.node, payload.number, at, passed=payload.passed),
    health.NodeReleased: lambda fleet, payload, _: fleet.machines.uncheck(payload.node),
    PolicyActivated: _policy,
    jobs.JobHeld: lambda fleet, payload, _: fleet.workload.waits(payload.job, wants=False),
    jobs.JobReleased: _wants,
    jobs.JobRequeued: _wants,
    # The places of lost nodes: where nobody has said before that their work is dead, these do.
    jobs.NodeSwapped: lambda fleet, payload, at: fleet.workload.replaced(payload.job, payload.slice, (payload.old,), at, slot=payload.slot),
    jobs.SliceMoved: lambda fleet, payload, at: fleet.workload.replaced(payload.job, payload.slice, payload.lost, at),
    jobs.SliceStalled: lambda fleet, payload, at: fleet.workload.stalled(payload.job, at),
    jobs.CheckpointReported: lambda fleet, payload, at: fleet.workload.saved(payload.job, at),
    jobs.WorkStarted: lambda fleet, payload, at: fleet.workload.started(payload.job, payload.generation, payload.nodes, at),
    jobs.WorkStopped: lambda fleet, payload, at: fleet.workload.stopped(payload.job, payload.generation, payload.nodes, at),
    jobs.JobFinished: _ended,
    jobs.JobFailed: _ended,
    jobs.JobCancelled: _ended,
}
