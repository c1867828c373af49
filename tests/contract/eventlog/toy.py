"""A small scheduler and small facts, so that the log is tested by itself.

`decide` places whole nodes of one domain, first fit by name. It is as deterministic as the real one, and no more clever than a test needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clusters.domain.commands import CancelJob, Command, MarkNode, RunPass, SubmitJob
from clusters.domain.decision import Decision, Refusal
from clusters.domain.events import Event, NewEvent, Payload, PolicyActivated
from clusters.domain.health_events import NodeFailed, NodeSuspected
from clusters.domain.ids import Instant
from clusters.domain.inventory_events import ClockSet, ClusterCreated, NodeRegistered, RackRegistered
from clusters.domain.job_events import AfterStop, JobCancelled, JobPlaced, JobSubmitted, SliceAssignment, StopRequested, WorkStopped
from clusters.domain.jobs import ACTIVE, QUEUED, JobKind, JobRequest
from clusters.domain.policy import Policy
from clusters.domain.state import ClusterState, Job
from clusters.eventlog.log import StoredLog
from clusters.eventlog.port import Committed
from clusters.eventlog.request import Request

CLUSTER = "toy"
GPUS = 4


def fact(payload: Payload, source_id: str, *, source: str = "probe", at: Instant = 1, source_seq: int | None = None) -> NewEvent:
    return NewEvent(payload, at, source, source_id, source_seq)


def suspicion(number: int, *, node: str = "r1-n1", source: str = "probe") -> NewEvent:
    return fact(NodeSuspected(node=node, reason=f"doubt {number}"), f"s{number}", source=source, at=number)


def opening(cluster: str = CLUSTER) -> list[NewEvent]:
    payloads = (
        ClusterCreated(name=cluster, connector="none"),
        ClockSet(wall=0, cluster_time=0, speed=1.0),
        PolicyActivated(version=1, policy=Policy(), reason="", by=""),
    )
    return [fact(payload, type(payload).__name__, source="system") for payload in payloads]


def inventory(racks: int, nodes: int) -> list[NewEvent]:
    facts: list[NewEvent] = []
    for rack in range(1, racks + 1):
        facts.append(fact(RackRegistered(rack=f"r{rack}", block="b1"), f"r{rack}", source="import"))
        for node in range(1, nodes + 1):
            payload = NodeRegistered(node=f"r{rack}-n{node}", rack=f"r{rack}", domain=f"d{rack}", gpus=GPUS)
            facts.append(fact(payload, payload.node, source="import"))
    return facts


def create(log: StoredLog, *, cluster: str = CLUSTER, racks: int = 1, nodes: int = 4) -> None:
    """A cluster with an inventory."""
    log.create(cluster, opening(cluster))
    log.append_facts(cluster, inventory(racks, nodes))


def ask(nodes: int = 1, name: str = "work") -> JobRequest:
    return JobRequest(name=name, kind=JobKind.TRAINING, nodes=nodes)


def submit(log: StoredLog, request_id: str, *, nodes: int = 1, cluster: str = CLUSTER) -> str:
    """Submit a job and return its id."""
    done = log.commit(cluster, Request(command=SubmitJob(request=ask(nodes), by="ada"), source="user:ada", request_id=request_id), decide)
    assert isinstance(done, Committed)
    return done.events[0].subject


def run_pass(log: StoredLog, *, cluster: str = CLUSTER) -> tuple[Event, ...]:
    """Place what waits; the events."""
    done = log.commit(cluster, Request(command=RunPass(), source="scheduler", request_id=None), decide)
    assert isinstance(done, Committed)
    return done.events


def stopped(job: str, nodes: Sequence[str], source_id: str, generation: int = 1) -> NewEvent:
    return fact(WorkStopped(job=job, generation=generation, nodes=tuple(nodes)), source_id, source="connector")


def submission(request_id: str | None, name: str = "work") -> Request:
    return Request(command=SubmitJob(request=ask(name=name), by="ada"), source="user:ada", request_id=request_id)


def placing(job: str, *nodes: str, generation: int = 1, gpus: tuple[int, ...] = ()) -> JobPlaced:
    return JobPlaced(job=job, generation=generation, slices=(SliceAssignment(domain="d1", nodes=nodes, gpus=gpus),))


def decide(state: ClusterState, command: Command, now: Instant) -> Decision | Refusal:
    match command:
        case SubmitJob():
            return Decision(events=(JobSubmitted(request=command.request, submitted_by=command.by),))
        case CancelJob():
            return _cancel(state, command)
        case RunPass():
            return _pass(state)
        case MarkNode():
            return Decision(events=(NodeFailed(node=command.node, reason=command.reason, fencing=True),))
    return Refusal(code="unknown")


def _cancel(state: ClusterState, command: CancelJob) -> Decision | Refusal:
    job = state.jobs.get(command.job)
    if job is None or not (job.state in QUEUED or job.state in ACTIVE):
        return Refusal(code="state", message=f"{command.job} does not run or wait")
    if job.state in QUEUED:
        return Decision(events=(JobCancelled(job=job.id, reason=command.reason),))
    nodes = tuple(sorted(job.held_nodes))
    stop = StopRequested(job=job.id, generation=job.generation, nodes=nodes, after=AfterStop.CANCELLED, reason=command.reason)
    return Decision(events=(stop,))


def _pass(state: ClusterState) -> Decision:
    """One job at a time; `more` while others wait."""
    settled = [JobCancelled(job=job, reason="stopped") for job in sorted(state.stopped)]
    for name in sorted(state.queue):
        placed = _place(state, state.jobs[name])
        if placed is not None:
            return Decision(events=(*settled, placed), more=len(state.queue) > 1)
    return Decision(events=tuple(settled))


def _place(state: ClusterState, job: Job) -> JobPlaced | None:
    domains: dict[str, list[str]] = {}
    for node in sorted(state.nodes.values(), key=lambda node: node.name):
        if node.placeable and node.domain and not node.job and not node.shares:
            domains.setdefault(node.domain, []).append(node.name)
    wanted = job.request.nodes or 1
    for domain, free in sorted(domains.items()):
        if len(free) >= wanted:
            part = SliceAssignment(domain=domain, nodes=tuple(free[:wanted]))
            return JobPlaced(job=job.id, generation=job.generation + 1, slices=(part,))
    return None


def always(*payloads: Payload) -> Callable[[ClusterState, Command, Instant], Decision]:
    """A program gone wrong: it decides the same whatever the state."""
    return lambda state, command, now: Decision(events=payloads)
