"""How events change the fleet: what it tells itself, and what others decide or say."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clusters.connectors.base import Work
from clusters.connectors.effects import carry_out, effect_of
from clusters.domain import health_events as health
from clusters.domain import inventory_events as inventory
from clusters.domain import job_events as jobs
from clusters.domain.events import Payload
from clusters.domain.ids import Instant, job_id

if TYPE_CHECKING:
    from clusters.connectors.simulated.fleet import SimulatedFleet

#: What the fleet tells of itself, and takes in as it tells it.
TOLD = (
    jobs.WorkStarted,
    jobs.WorkStopped,
    jobs.JobFinished,
    jobs.JobFailed,
    jobs.JobCancelled,
    health.NodeFailed,
    health.RepairStarted,
    health.RepairFinished,
)

_Handler = Callable[["SimulatedFleet", Any, Instant], None]


def take_in(fleet: SimulatedFleet, payload: Payload, at: Instant, seq: int | None = None) -> None:
    """Let the fleet know what happened; `seq` once the event stands in the log."""
    if isinstance(payload, jobs.JobSubmitted):
        _submitted(fleet, payload, at, seq)
        return
    handler = _HANDLERS.get(type(payload))
    if handler is not None:
        handler(fleet, payload, at)
    effect = effect_of(payload)
    if effect is not None and (work := fleet.workload.work_of(effect.job)) is not None:
        carry_out(effect, fleet, work)


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


def _ended(fleet: SimulatedFleet, payload: jobs.JobFinished | jobs.JobFailed | jobs.JobCancelled, _: Instant) -> None:
    fleet.workload.ended(payload.job)


def _wants(fleet: SimulatedFleet, payload: jobs.JobReleased | jobs.JobRequeued, _: Instant) -> None:
    fleet.workload.waits(payload.job, wants=True)


_HANDLERS: dict[type, _Handler] = {
    inventory.NodeRegistered: lambda fleet, payload, _: fleet.machines.add(payload.node),
    inventory.NodeRemoved: _removed,
    inventory.ArrivalsPlanned: lambda fleet, payload, _: fleet.arrivals.planned(payload),
    health.NodeFailed: _failed,
    health.RepairStarted: lambda fleet, payload, _: fleet.machines.repair_started(payload.node),
    health.RepairFinished: lambda fleet, payload, _: fleet.machines.repaired(payload.node),
    jobs.JobHeld: lambda fleet, payload, _: fleet.workload.waits(payload.job, wants=False),
    jobs.JobReleased: _wants,
    jobs.JobRequeued: _wants,
    # The places of lost nodes: where nobody has said before that their work is dead, these do.
    jobs.NodeSwapped: lambda fleet, payload, at: fleet.workload.lost(payload.job, (payload.old,), at),
    jobs.SliceMoved: lambda fleet, payload, at: fleet.workload.lost(payload.job, payload.lost, at),
    jobs.WorkStarted: lambda fleet, payload, at: fleet.workload.started(payload.job, payload.generation, payload.nodes, at),
    jobs.WorkStopped: lambda fleet, payload, at: fleet.workload.stopped(payload.job, payload.generation, payload.nodes, at),
    jobs.JobFinished: _ended,
    jobs.JobFailed: _ended,
    jobs.JobCancelled: _ended,
}
