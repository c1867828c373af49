"""Clusters in which a job waits for a whole rack that small work is spread over, and plans for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from clusters.domain.commands import ApprovePlan, ProposePlan
from clusters.domain.decision import Decision, Refusal
from clusters.domain.defrag import ActivePlan, Plan, PlanStatus
from clusters.domain.ids import HOUR, MINUTE
from clusters.domain.policy import Policy
from clusters.domain.setting import DefragMode
from scheduling.domain.defrag.cascade import first_plan
from scheduling.domain.defrag.plan import plan_of
from scheduling.domain.defrag_trigger import causes, problem_of
from scheduling.domain.trial import Trial
from tests.support.world import World, ask, racks

T = TypeVar("T")

#: Nodes of a rack, and of the job that wants all of one.
WIDTH = 4


def policy(mode: DefragMode = DefragMode.SUGGEST, **fields: Any) -> Policy:
    return Policy(**{"slice_size": WIDTH, "target_spares": 0, "defrag_mode": mode, "defrag_wait_s": 60, **fields})


def scattered(
    mode: DefragMode = DefragMode.SUGGEST, count: int = 3, request: dict[str, Any] | None = None, **fields: Any
) -> tuple[World, str]:
    """Racks of WIDTH nodes, of which one job has two in each, and a job that waits for a whole rack."""
    world = World(racks(count, nodes=WIDTH), policy(mode, **fields))
    small = [world.submit(ask(2, **(request or {}))) for _ in range(2 * count)]
    world.settle()
    world.now += HOUR
    for domain in {world.job(name).slices[0].domain: name for name in small}.values():
        world.finish(domain)
    job = world.submit(ask(WIDTH, slice_size=WIDTH))
    world.settle()
    world.now += 5 * MINUTE
    return world, job


def search(world: World) -> Plan | None:
    """The first plan for what calls for one first."""
    cause = next(causes(world.state, world.now), None)
    if cause is None:
        return None
    trial = Trial(world.state, world.now)
    problem = problem_of(trial, cause)
    solution = first_plan(problem) if problem is not None else None
    return plan_of(trial, problem, solution) if problem is not None and solution is not None else None


def propose(world: World, plan: Plan | None = None) -> Decision | Refusal:
    plan = plan or search(world)
    assert plan is not None
    return world.do(ProposePlan(plan=plan, reason="it waits"))


def approved(world: World) -> ActivePlan:
    """A plan for the job, approved by a person."""
    assert isinstance(propose(world), Decision)
    (known,) = world.state.defrag.values()
    assert isinstance(world.do(ApprovePlan(plan=known.id, by="op")), Decision)
    (running,) = world.state.defrag.values()
    assert running == replace(known, status=PlanStatus.RUNNING, by="op", approved_at=world.now)
    return running


def kinds(world: World, since: int) -> list[str]:
    return [event.kind for event in world.log.events[since:]]


def only(world: World, kind: type[T]) -> list[T]:
    """The payloads of that kind, in order."""
    return [event.payload for event in world.log.events if isinstance(event.payload, kind)]
