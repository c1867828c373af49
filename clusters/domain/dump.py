"""The state as plain values and back: snapshots store them, hashes compare them.

Whatever two states differ in shows in their dumps, and nothing else does: the dense state, which follows from the rest, is left out.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from clusters.domain.books import Condition
from clusters.domain.checks import is_unasked
from clusters.domain.clock import Clock
from clusters.domain.defrag import Disturbed, RoomRequest, load_active
from clusters.domain.health import Flag, Mark, Marks
from clusters.domain.incidents import Breaker, Incident
from clusters.domain.job_events import AfterStop
from clusters.domain.jobs import QUEUED, JobState, load_request
from clusters.domain.lost_work import Disruption, Loss, LossCause
from clusters.domain.policy import load_policy
from clusters.domain.racks import Rack, RackState, Service
from clusters.domain.reservations import Reservation
from clusters.domain.signals import Heard, SignalKind, SignalScope
from clusters.domain.state import ClusterState, Job, Node, Slice, is_limited, is_watched

Plain = dict[str, Any]

_NODE_FIELDS = (
    "name",
    "rack",
    "domain",
    "gpus",
    "told_domain",
    "told_gpus",
    "product",
    "problem",
    "failures",
    "failed_at",
    "trusted_at",
    "shut",
    "job",
    "unchecked",
    "asked_at",
    "checks",
)
_JOB_FIELDS = (
    "id",
    "seq",
    "submitted_by",
    "submitted_at",
    "arrival",
    "priority",
    "aged_from",
    "paused_at",
    "blocked",
    "blocked_since",
    "reason",
    "placed_at",
    "placed_seq",
    "started_at",
    "generation",
    "swaps",
    "moves",
    "preemptions",
    "disturbed_at",
    "unwanted_at",
    "checkpoint_at",
    "checkpoint_step",
    "resumed_at",
    "rollback_gpu_s",
    "stall_gpu_s",
)
_STATE_FIELDS = ("seq", "name", "connector", "frontier", "policy_version")


def dump_state(state: ClusterState) -> Plain:
    """Everything the state holds, in values that JSON can carry; equal states give equal dumps."""
    return {
        **{field: getattr(state, field) for field in _STATE_FIELDS},
        "options": dict(sorted(state.options.items())),
        "clock": asdict(state.clock),
        "policy": asdict(state.policy),
        "racks": [_dump_rack(rack) for _, rack in sorted(state.racks.items())],
        "nodes": [_dump_node(node) for _, node in sorted(state.nodes.items())],
        "jobs": [_dump_job(job) for _, job in sorted(state.jobs.items(), key=lambda item: item[1].seq)],
        "orphaned": dict(sorted(state.orphaned.items())),
        "usage": state.usage.dump(),
        "untold": [name for line in sorted(state.queue.lines.values(), key=lambda line: line.jobs[0]) for name in line.fresh],
        "lost": sorted(state.lost),
        "stopped": sorted(state.stopped),
        "ended": [[job, outcome.value] for job, outcome in state.ended.items()],
        "tally": dict(sorted(state.tally.items())),
        "plans": {plan: list(positions) for plan, positions in sorted(state.plans.items())},
        "arrived": dict(sorted(state.arrived.items())),
        "unbooked": [asdict(loss) for loss in state.unbooked],
        "lost_work": [[*key, *spent] for key, spent in sorted(state.lost_work.items())],
        "incidents": [asdict(incident) for _, incident in sorted(state.incidents.items())],
        "breaker": asdict(state.breaker) if state.breaker else None,
        "breaker_reset_at": state.breaker_reset_at,
        "reservations": [asdict(reservation) for _, reservation in sorted(state.reservations.items())],
        "lent": dict(sorted(state.lent.items())),
        "defrag": [asdict(plan) for _, plan in sorted(state.defrag.items())],
        "room": asdict(state.room) if state.room else None,
        "disturbed": [asdict(disturbed) for disturbed in state.disturbed],
    }


def load_state(plain: Plain) -> ClusterState:
    """The state whose dump this is."""
    state = ClusterState()
    for field in _STATE_FIELDS:
        setattr(state, field, plain[field])
    state.options = dict(plain["options"])
    state.clock = Clock(**plain["clock"])
    state.policy = load_policy(plain["policy"])
    state.racks = {rack.name: rack for rack in map(_load_rack, plain["racks"])}
    state.nodes = {node.name: node for node in map(_load_node, plain["nodes"])}
    state.jobs = {job.id: job for job in map(_load_job, plain["jobs"])}
    state.holders = {job.id: job for job in state.jobs.values() if job.held_nodes}
    state.orphaned = dict(plain["orphaned"])
    state.usage.load(plain["usage"])
    _load_queue(state, plain["untold"])
    state.lost = set(plain["lost"])
    state.stopped = set(plain["stopped"])
    state.limited = {job.id for job in state.jobs.values() if is_limited(job)}
    state.ended = {job: JobState(outcome) for job, outcome in plain["ended"]}
    state.tally = dict(plain["tally"])
    state.plans = {plan: list(positions) for plan, positions in plain["plans"].items()}
    state.arrived = dict(plain["arrived"])
    reservations = (Reservation(**{**kept, "nodes": tuple(kept["nodes"])}) for kept in plain["reservations"])
    state.reservations = {reservation.job: reservation for reservation in reservations}
    state.exclusive = {job.id for job in state.jobs.values() if job.request.exclusive}
    state.lent = dict(plain["lent"])
    state.defrag = {plan.id: plan for plan in map(load_active, plain["defrag"])}
    state.room = RoomRequest(**plain["room"]) if plain["room"] else None
    state.disturbed = [Disturbed(**disturbed) for disturbed in plain["disturbed"]]
    _load_incidents(state, plain)
    state.unbooked = [Loss(**{**plain_loss, "cause": LossCause(plain_loss["cause"])}) for plain_loss in plain["unbooked"]]
    state.lost_work = {(team, cause): (rollback, stall) for team, cause, rollback, stall in plain["lost_work"]}
    return state


def _load_incidents(state: ClusterState, plain: Plain) -> None:
    for kept in plain["incidents"]:
        incident = Incident(**{**kept, "nodes": tuple(kept["nodes"]), "evidence": tuple(kept["evidence"])})
        state.incidents[incident.id] = incident
    state.breaker = Breaker(**plain["breaker"]) if plain["breaker"] else None
    state.breaker_reset_at = plain["breaker_reset_at"]
    state.closed_racks = {rack.name for rack in state.racks.values() if rack.service.state is not RackState.OPEN}
    state.watched = {node.name for node in state.nodes.values() if is_watched(node)}
    state.unasked = {node.name for node in state.nodes.values() if is_unasked(node)}


def _load_queue(state: ClusterState, untold: list[str]) -> None:
    """The queue follows from the jobs; in which order they are told why they wait does not."""
    for job in state.jobs.values():
        for name in sorted(job.awaits):
            state.dependents.setdefault(name, []).append(job.id)
        if job.state in QUEUED:
            state.queue.add(job, aside=bool(job.awaits) or job.id in state.orphaned)
    for line in state.queue.lines.values():
        line.fresh.clear()
    for job in map(state.jobs.__getitem__, untold):
        if job.line is not None:
            job.line.note(job)


def _dump_rack(rack: Rack) -> list[Any]:
    lost = [[*chip, reason] for chip, reason in sorted(rack.lost_chips.items())]
    return [rack.name, rack.block, rack.switch_trays, rack.fabric_gbps, lost, asdict(rack.service)]


def _load_rack(plain: list[Any]) -> Rack:
    *described, lost, service = plain
    rack = Rack(*described)
    rack.lost_chips = {(tray, chip): reason for tray, chip, reason in lost}
    rack.service = Service(**{**service, "state": RackState(service["state"])})
    return rack


def _dump_node(node: Node) -> Plain:
    return {
        **{field: getattr(node, field) for field in _NODE_FIELDS},
        "condition": node.condition.value,
        "evidence": list(node.evidence),
        "marks": [
            [
                flag.value,
                source,
                mark.on,
                mark.rank,
                mark.since,
                mark.reason,
                mark.owner,
                mark.exit_rule,
                list(mark.evidence),
            ]
            for (flag, source), mark in sorted(node.marks.items())
        ],
        "verdicts": list(node.verdicts),
        "signals": [[*heard] for heard in node.signals],
        "shares": dict(sorted(node.shares.items())),
    }


def _load_node(plain: Plain) -> Node:
    node = Node(plain["name"])
    for field in _NODE_FIELDS:
        setattr(node, field, plain[field])
    node.condition = Condition(plain["condition"])
    node.evidence = tuple(plain["evidence"])
    node.marks = _load_marks(plain["marks"])
    node.verdicts = list(plain["verdicts"])
    node.signals = [_load_heard(row) for row in plain["signals"]]
    node.shares = dict(plain["shares"])
    return node


def _load_heard(row: list[Any]) -> Heard:
    heard = Heard(*row)
    return heard._replace(kind=SignalKind(heard.kind), scope=SignalScope(heard.scope))


def _load_marks(rows: list[list[Any]]) -> Marks:
    return {
        (Flag(flag), source): Mark(on=on, rank=rank, since=since, reason=reason, owner=owner, exit_rule=exit_rule, evidence=tuple(evidence))
        for flag, source, on, rank, since, reason, owner, exit_rule, evidence in rows
    }


def _dump_job(job: Job) -> Plain:
    return {
        **{field: getattr(job, field) for field in _JOB_FIELDS},
        "request": asdict(job.request),
        "state": job.state.value,
        "awaits": sorted(job.awaits),
        "counts": dict(sorted(job.counts.items())),
        "slices": [[part.domain, list(part.nodes), list(part.gpus), sorted(map(list, part.lost.items()))] for part in job.slices],
        "held_nodes": dict(sorted(job.held_nodes.items())),
        "leaving": sorted(job.leaving),
        "unstarted": sorted(job.unstarted),
        "recoveries": list(job.recoveries),
        "after": job.after.value if job.after else None,
        "disruption": asdict(job.disruption) if job.disruption else None,
    }


def _load_job(plain: Plain) -> Job:
    job = Job(
        id=plain["id"],
        seq=plain["seq"],
        request=load_request(plain["request"]),
        submitted_by=plain["submitted_by"],
        submitted_at=plain["submitted_at"],
    )
    for field in _JOB_FIELDS:
        setattr(job, field, plain[field])
    job.state = JobState(plain["state"])
    job.awaits = set(plain["awaits"])
    job.counts = dict(plain["counts"])
    job.slices = [_load_slice(*part) for part in plain["slices"]]
    job.held_nodes = dict(plain["held_nodes"])
    job.leaving = set(plain["leaving"])
    job.unstarted = set(plain["unstarted"])
    job.recoveries = list(plain["recoveries"])
    job.after = AfterStop(plain["after"]) if plain["after"] else None
    if disruption := plain["disruption"]:
        job.disruption = Disruption(**{**disruption, "cause": LossCause(disruption["cause"])})
    return job


def _load_slice(domain: str, nodes: list[str | None], gpus: list[int], lost: list[tuple[int, str]]) -> Slice:
    part = Slice(domain, list(nodes), tuple(gpus))
    part.lost = dict(lost)
    return part
