"""Events in the words of people: what happened, why, and whether it is good or bad news."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clusters.domain import defrag_events as defrag
from clusters.domain import health_events as health
from clusters.domain import incident_events as incidents
from clusters.domain import inventory_events as inventory
from clusters.domain import job_events as jobs
from clusters.domain import signal_events as signals
from clusters.domain import space_events as space
from clusters.domain import switch_events as switches
from clusters.domain.decision import Refusal
from clusters.domain.events import Event, Payload, PolicyActivated
from clusters.domain.jobs import JobRequest
from clusters.domain.lost_work import LossCause
from frontend.pages.palette import state_of
from scheduling.domain.refusals import explain
from scheduling.domain.wording import gpu_hours, many

Words = tuple[str, str]  # what happened; why, or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One event as lists show it."""

    seq: int
    kind: str
    at_us: int
    title: str
    detail: str
    tone: str  # "bad", "warn", "good" or ""
    job: str  # the job it is about, or ""


#: Too frequent and too small to be news of a whole fleet.
QUIET = frozenset(
    cls.__name__
    for cls in (
        inventory.ClockSet,
        inventory.NodeChanged,
        inventory.NodeRegistered,
        inventory.RackRegistered,
        health.NodeCheckRequested,
        jobs.CheckpointReported,
        jobs.JobBlocked,
        jobs.StopRequested,
        jobs.WorkStarted,
        jobs.WorkStopped,
        signals.SignalReceived,
    )
)

_TONES: dict[type, str] = {
    health.NodeFailed: "bad",
    health.NodeQuarantined: "warn",
    health.NodeSuspected: "warn",
    health.NodeUnreachable: "warn",
    health.NodeDegraded: "warn",
    health.NodeRecovered: "good",
    health.RepairFinished: "good",
    incidents.IncidentOpened: "bad",
    incidents.IncidentExtended: "bad",
    incidents.IncidentClosed: "good",
    incidents.BreakerTripped: "bad",
    switches.SwitchTrayFailed: "bad",
    switches.SwitchTrayRepaired: "good",
    inventory.NodeAbsent: "warn",
    jobs.JobBlocked: "warn",
    jobs.SliceStalled: "warn",
    jobs.NodeSwapped: "warn",
    jobs.SliceMoved: "warn",
    jobs.JobPreempted: "warn",
    jobs.WorkLost: "warn",
    defrag.DefragPlanned: "warn",
    defrag.DefragAborted: "warn",
    defrag.DefragFinished: "good",
    jobs.JobRequeued: "warn",
    jobs.JobFailed: "bad",
    jobs.JobFinished: "good",
}


def tell(event: Event) -> Told:
    """The event in words."""
    title, detail = words_of(event.payload)
    about_job = type(event.payload).__module__ == jobs.__name__
    return Told(
        seq=event.seq,
        kind=event.kind,
        at_us=event.occurred_at,
        title=title,
        detail=detail,
        tone=tone_of(event.payload),
        job=event.subject if about_job else "",
    )


def words_of(payload: Payload) -> Words:
    """What happened, and why."""
    return _WORDS[type(payload)](payload)


def tone_of(payload: Payload) -> str:
    """Whether it is "bad", "warn" or "good" news, or none."""
    if isinstance(payload, health.NodeChecked):
        return "good" if payload.passed else "bad"
    return _TONES.get(type(payload), "")


def size_of(request: JobRequest) -> str:
    """How much a request asks for."""
    return many(request.nodes, "node") if request.nodes is not None else many(request.gpus or 0, "GPU")


def _node(what: str) -> Callable[[Any], Words]:
    """An event that names a node and a reason."""
    return lambda event: (f"{event.node} {what}", getattr(event, "reason", ""))


def _job(what: str) -> Callable[[Any], Words]:
    """An event that names a job and, where there is one, a reason."""
    return lambda event: (what, getattr(event, "reason", ""))


def _clock(event: inventory.ClockSet) -> Words:
    return ("Clock paused", "") if event.speed == 0 else (f"Clock runs at {event.speed:g}×", "")


def _submitted(event: jobs.JobSubmitted) -> Words:
    request = event.request
    return f"Submitted: {request.name}", f"{size_of(request)}, {request.kind}, by {event.submitted_by}"


def _refused(what: str) -> Callable[[Any], Words]:
    return lambda event: (what, explain(Refusal(code=event.code, counts=event.counts)))


def _placed(event: jobs.JobPlaced) -> Words:
    nodes = sum(len(part.nodes) for part in event.slices)
    gpus = sum(len(part.gpus) for part in event.slices)
    where = Counter(part.domain for part in event.slices)
    slices = ", ".join(f"{domain} × {count}" if count > 1 else domain for domain, count in where.items())
    return f"Placed on {many(gpus, 'GPU') if gpus else many(nodes, 'node')}", f"in {slices}"


def _swapped(event: jobs.NodeSwapped) -> Words:
    return f"{event.new} took the place of {event.old}", f"slice {event.slice}, slot {event.slot}: {event.reason}"


def _moved(event: jobs.SliceMoved) -> Words:
    return f"Slice {event.slice} moved from {event.old_domain} to {event.assignment.domain}", event.reason


def _requested(event: jobs.StopRequested) -> Words:
    return f"Asked to stop on {many(len(event.nodes), 'node')}", event.reason


def _signal(event: signals.SignalReceived) -> Words:
    of = f" of {event.component}" if event.component else ""
    return f"{event.node}: {event.kind} signal {event.code}{of}", event.text


def _work_lost(event: jobs.WorkLost) -> Words:
    lost = f"{gpu_hours(event.rollback_gpu_s)} to be done again, {gpu_hours(event.stall_gpu_s)} stood still"
    return "Work lost", f"{lost}: {LOSS_CAUSES[event.cause]}"


LOSS_CAUSES: dict[LossCause, str] = {
    LossCause.NODE_FAILED: "a node failed",
    LossCause.NODE_LOST: "a node was lost",
    LossCause.WORK_STOPPED: "work stopped on a node",
    LossCause.MOVED: "a slice was moved",
    LossCause.DEFRAG: "it made room for another",
    LossCause.PREEMPTED: "it gave its nodes back",
}


def _planned(event: defrag.DefragPlanned) -> Words:
    plan = event.proposal
    moved = len({move.job for move in plan.moves})
    aim = f"for job {plan.job}" if plan.job else f"of {many(len(plan.domains), 'whole domain')}"
    return f"Plan to make room {aim}: {many(moved, 'job')} would give way", event.reason


def _switch(what: str) -> Callable[[Any], Words]:
    def words(event: switches.SwitchTrayFailed | switches.SwitchTrayRepaired) -> Words:
        chip = "" if event.chip is None else f", chip {event.chip},"
        return f"Switch tray {event.tray}{chip} of {event.rack} {what}", event.reason

    return words


_WORDS: dict[type, Callable[[Any], Words]] = {
    inventory.ClusterCreated: lambda event: (f"Cluster {event.name} created", ""),
    inventory.ClockSet: _clock,
    inventory.RackRegistered: lambda event: (f"Rack {event.rack} registered", f"block {event.block}" if event.block else ""),
    inventory.NodeRegistered: lambda event: (f"{event.node} registered", event.problem),
    inventory.NodeChanged: lambda event: (f"{event.node} changed", event.problem),
    inventory.NodeAbsent: _node("is no longer in the inventory"),
    inventory.NodeRemoved: _node("removed"),
    inventory.RackRemoved: lambda event: (f"Rack {event.rack} removed", event.reason),
    inventory.ArrivalsPlanned: lambda event: (f"{many(len(event.items), 'job')} planned", f"trace {event.plan[:12]}"),
    health.NodeFailed: _node("failed"),
    health.NodeRecovered: _node("recovered"),
    health.NodeSuspected: _node("is suspect"),
    health.NodeUnreachable: _node("is unreachable"),
    health.NodeDegraded: _node("is degraded"),
    health.NodeQuarantined: _node("quarantined"),
    health.NodeReleased: _node("released into service"),
    health.NodeDraining: _node("is draining"),
    health.NodeUndrained: _node("takes work again"),
    health.RackStateChanged: lambda event: (f"Rack {event.rack}: {state_of('rack', event.state).label.lower()}", event.reason),
    health.RepairStarted: _node("in repair"),
    health.RepairFinished: _node("repaired"),
    health.NodeCheckRequested: lambda event: (f"{event.node} is to be checked", "it was repaired"),
    health.NodeChecked: lambda event: (f"{event.node} {'passed' if event.passed else 'did not pass'} its check", event.detail),
    signals.SignalReceived: _signal,
    switches.SwitchTrayFailed: _switch("failed"),
    switches.SwitchTrayRepaired: _switch("repaired"),
    incidents.IncidentOpened: lambda event: (f"Incident: {many(len(event.nodes), 'node')} of {event.domain} failed together", event.cause),
    incidents.IncidentExtended: lambda event: (f"Incident {event.incident}: {many(len(event.nodes), 'more node')} failed", ""),
    incidents.IncidentClosed: lambda event: (f"Incident {event.incident} closed", event.reason),
    incidents.BreakerTripped: _job("Breaker tripped: no more nodes are taken out automatically"),
    incidents.BreakerReset: _job("Breaker reset"),
    jobs.JobSubmitted: _submitted,
    jobs.JobHeld: _job("Held"),
    jobs.JobReleased: _job("Released into the queue"),
    jobs.JobBlocked: _refused("Cannot start yet"),
    jobs.JobPlaced: _placed,
    jobs.WorkStarted: lambda event: (f"Work started on {many(len(event.nodes), 'node')}", ""),
    jobs.WorkStopped: lambda event: (f"Work stopped on {many(len(event.nodes), 'node')}", event.reason),
    jobs.StopRequested: _requested,
    jobs.NodeSwapped: _swapped,
    jobs.SliceMoved: _moved,
    jobs.SliceStalled: _refused("Slice stalled"),
    jobs.JobPreempted: _job("Preempted"),
    jobs.JobResized: lambda event: (f"Goes on with {many(event.nodes, 'node')}", event.reason),
    jobs.JobRequeued: _job("Back in the queue"),
    jobs.JobFinished: _job("Finished"),
    jobs.JobFailed: _job("Failed"),
    jobs.JobCancelled: _job("Cancelled"),
    jobs.JobChanged: lambda event: (f"Priority is now {event.priority}", ""),
    jobs.CheckpointReported: lambda event: (f"Checkpoint at step {event.step:,}", ""),
    jobs.WorkLost: _work_lost,
    space.SpaceReserved: lambda event: (f"{many(len(event.nodes), 'node')} reserved", event.reason),
    space.SpaceFreed: _job("Reservation given up"),
    space.ReservationExpired: _job("Reservation expired"),
    space.SpareLent: lambda event: (f"{many(len(event.nodes), 'spare')} lent", ", ".join(event.nodes)),
    space.SpareReclaimed: lambda event: (f"{many(len(event.nodes), 'spare')} taken back", event.reason),
    defrag.DefragPlanned: _planned,
    defrag.DefragApproved: lambda event: (f"Plan {event.plan} approved", f"by {event.by}"),
    defrag.DefragRejected: lambda event: (f"Plan {event.plan} rejected by {event.by}", event.reason),
    defrag.CheckpointRequested: _job("Asked to save its progress"),
    defrag.DefragStepDone: lambda event: (f"Step {event.step + 1} of plan {event.plan} is done", f"job {event.victim}"),
    defrag.DefragFinished: lambda event: (f"Plan {event.plan} finished", event.reason),
    defrag.DefragAborted: lambda event: (f"Plan {event.plan} {event.status}", event.reason),
    defrag.RoomRequested: lambda event: (f"{many(event.domains, 'whole domain')} wanted by {event.by}", event.reason),
    defrag.RoomDropped: lambda event: ("Whole domains are wanted no more", event.reason),
    PolicyActivated: lambda event: (f"Policy {event.version} in force", event.reason),
}
