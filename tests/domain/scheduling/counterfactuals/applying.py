"""Making counterfactuals true: by the commands that people give and the facts that connectors report, and in no other way."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from clusters.domain import health_events as hev
from clusters.domain import job_events as ev
from clusters.domain.books import Condition
from clusters.domain.commands import ApprovePlan, CancelJob, ChangePolicy, NodeVerb, ReleaseJob, SetRackState
from clusters.domain.decision import Decision
from clusters.domain.defrag import PlanStatus
from clusters.domain.ids import HOUR, SECOND
from clusters.domain.jobs import ACTIVE
from clusters.domain.racks import RackState
from clusters.domain.space_events import SpaceReserved
from scheduling.domain.counterfactuals import Counterfactual, Kind, counterfactuals
from scheduling.domain.counterfactuals.question import Question
from scheduling.domain.limits import limit_of
from tests.support.world import World

VERBS = {
    Condition.FAILED: NodeVerb.REPAIR,
    Condition.IN_REPAIR: NodeVerb.REPAIR,
    Condition.QUARANTINED: NodeVerb.RELEASE,
    Condition.DRAINING: NodeVerb.UNDRAIN,
    Condition.HEALTHY: NodeVerb.RELEASE,  # it waits for its check
}


def asked(world: World, job: str) -> dict[Kind, Counterfactual]:
    """What would start the job, by kind."""
    return {found.kind: found for found in counterfactuals(world.state, world.job(job), world.now)}


def comes_true(world: World, job: str, found: Counterfactual) -> bool:
    """Whether the job has all its nodes once the counterfactual is made true; the world stays as it was."""
    twin = copy.deepcopy(world)
    wanted = _apply(twin, job, found)
    twin.settle()
    return wanted in twin.state.jobs and twin.job(wanted).state in ACTIVE and not twin.job(wanted).lost_slots


def _apply(world: World, job: str, found: Counterfactual) -> str:
    """Make it true; the job that is to start then, which is another one where it asks differently."""
    if found.at is not None:
        world.now = found.at
    params: Any = found.params
    if found.kind in (Kind.SLICE, Kind.SIZE):
        request = world.job(job).request
        world.do(CancelJob(job=job, by="ada"))
        world.connect()
        return world.submit(replace(request, **params))
    _APPLIED[found.kind](world, job, params)
    if found.at is not None:
        _run_to_limits(world)
    return job


def _run_to_limits(world: World) -> None:
    """Work whose time is over by now has been stopped."""
    for name in sorted(world.state.limited):
        job = world.job(name)
        limit = limit_of(job)
        if limit is not None and limit <= world.now:
            nodes = tuple(job.held_nodes)
            world.add(ev.JobFailed(job=name, generation=job.generation, reason="ran to its time limit"))
            world.add(ev.WorkStopped(job=name, generation=job.generation, nodes=nodes))


def _release(world: World, job: str, _: Any) -> None:
    world.do(ReleaseJob(job=job, by="ada"))


def _finish(world: World, _: str, params: Any) -> None:
    for name in params["jobs"]:
        if name in world.state.jobs:
            world.finish(name)


def _mend(world: World, _: str, params: Any) -> None:
    for name in params["nodes"]:
        while not (node := world.state.nodes[name]).placeable:
            if node.condition in VERBS:
                assert isinstance(world.mark(name, VERBS[node.condition]), Decision)
            else:
                world.add(hev.NodeRecovered(node=name, reason="answers again"), source="agent")


def _open(world: World, _: str, params: Any) -> None:
    assert isinstance(world.do(SetRackState(rack=params["rack"], state=RackState.OPEN, until=None, by="op", reason="")), Decision)


def _move(world: World, _: str, params: Any) -> None:
    for move in params["moves"]:
        job = world.job(move["job"])
        part = job.slices[move["slice"]]
        old = tuple(name for name in part.nodes if name is not None)
        to = ev.SliceAssignment(domain=move["domain"], nodes=tuple(move["nodes"]), gpus=tuple(move["gpus"]))
        moved = ev.SliceMoved(
            job=job.id,
            generation=job.generation + 1,
            slice=move["slice"],
            old_domain=part.domain,
            assignment=to,
            released=old,
            lost=(),
            reason="moved",
        )
        stop = ev.StopRequested(job=job.id, generation=job.generation + 1, nodes=old, after=ev.AfterStop.CONTINUES, reason="moved")
        world.add(moved, stop)
        world.connect()


def _preempt(world: World, job: str, params: Any) -> None:
    if params["nodes"]:
        until = world.now + HOUR
        world.add(SpaceReserved(job=job, nodes=tuple(params["nodes"]), starts_at=world.now, expires_at=until, reason="makes room"))
    for name in params["jobs"]:
        victim = world.job(name)
        world.add(
            ev.JobPreempted(job=name, generation=victim.generation, by=job, reason="makes room"),
            ev.StopRequested(
                job=name, generation=victim.generation, nodes=tuple(victim.held_nodes), after=ev.AfterStop.WAITING, reason="makes room"
            ),
        )


def _change_policy(world: World, _: str, params: Any) -> None:
    policy = replace(world.state.policy, **{params["setting"]: params["value"]})
    assert isinstance(world.do(ChangePolicy(policy=policy, expected=world.state.policy_version, by="ada", reason="less")), Decision)


def _carry_out(world: World, _: str, params: Any) -> None:
    if world.state.defrag[params["plan"]].status is PlanStatus.PROPOSED:
        assert isinstance(world.do(ApprovePlan(plan=params["plan"], by="op")), Decision)
    world.settle()
    world.now += world.state.policy.defrag_grace_s * SECOND


def _wait(_world: World, _job: str, _params: Any) -> None:
    """Time passes by itself."""


_APPLIED = {
    Kind.RELEASE: _release,
    Kind.TIME: _wait,
    Kind.AFTER: _finish,
    Kind.QUOTA: _finish,
    Kind.REPAIR: _mend,
    Kind.OPEN: _open,
    Kind.END: _finish,
    Kind.MOVE: _move,
    Kind.PREEMPT: _preempt,
    Kind.PLAN: _carry_out,
    Kind.SPACE: _wait,
    Kind.POLICY: _change_policy,
}


def question(world: World, job: str) -> Question:
    """A question of its own."""
    return Question(world.state, world.job(job), world.now)
