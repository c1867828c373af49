"""Plans that something comes between: people, failures, ends of work, crashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.domain import defrag_events as defrag
from clusters.domain import job_events as jobs
from clusters.domain.commands import (
    ApprovePlan,
    CancelJob,
    NodeVerb,
    ReviewPlans,
    SetRackState,
)
from clusters.domain.decision import Decision
from clusters.domain.defrag import PlanStatus
from clusters.domain.dump import dump_state, load_state
from clusters.domain.ids import HOUR, MINUTE, SECOND
from clusters.domain.jobs import JobState, Recovery
from clusters.domain.racks import RackState
from clusters.domain.setting import DefragMode
from clusters.domain.space_events import SpaceFreed, SpaceReserved
from tests.domain.clusters.logs import Log
from tests.domain.scheduling.defrag.stories import WIDTH, approved, kinds, only, policy, propose, scattered, search
from tests.support.world import World, ask, racks


def _moving() -> tuple[World, str]:
    """The move has begun; the old nodes have not stopped."""
    world, job = scattered()
    approved(world)
    world.settle()
    world.now += MINUTE
    world.run_pass()
    assert next(iter(world.state.defrag.values())).begun == (0,)
    return world, job


def test_a_job_that_is_cancelled_ends_its_plan_and_its_claim() -> None:
    world, job = _moving()
    world.do(CancelJob(job=job, by="ada"))
    world.settle()
    assert [(event.status, event.reason) for event in only(world, defrag.DefragAborted)] == [(PlanStatus.ABORTED, f"job {job} has ended")]
    assert (world.state.defrag, world.state.reservations) == ({}, {})
    assert Counter(job.state for job in world.state.jobs.values()) == {JobState.RUNNING: 3}


def test_before_the_first_step_the_plan_is_checked_once_more() -> None:
    world, job = scattered()
    known = approved(world)
    world.settle()
    (move,) = known.plan.moves
    assert move.to is not None
    world.mark(move.to.nodes[0], NodeVerb.FAIL)
    world.now += MINUTE
    world.settle()
    assert only(world, jobs.SliceMoved) == []
    (ended,) = only(world, defrag.DefragAborted)
    assert move.to.nodes[0] in ended.reason
    assert len(only(world, SpaceFreed)) == 1
    assert world.job(job).state is JobState.WAITING


def _maintenance(world: World, rack: str) -> None:
    command = SetRackState(rack=rack, state=RackState.NO_NEW_LONG_JOBS, until=world.now + HOUR, by="op", reason="new pump")
    assert isinstance(world.do(command), Decision)


@pytest.mark.parametrize("where", ["the place of a move", "what is freed"])
def test_a_rack_that_is_to_have_its_maintenance_serves_no_plan_that_was_made_before(where: str) -> None:
    """Nobody has said how long the work runs."""
    world, job = scattered()
    (move,) = approved(world).plan.moves
    assert move.to is not None
    world.settle()
    rack = move.to.domain if where == "the place of a move" else move.domain
    _maintenance(world, rack)
    world.now += MINUTE
    world.settle()
    assert only(world, jobs.SliceMoved) == []
    (ended,) = only(world, defrag.DefragAborted)
    assert "has its maintenance before" in ended.reason
    assert world.job(job).state is JobState.WAITING


def test_a_rack_whose_maintenance_comes_after_the_work_serves_the_plan() -> None:
    world, job = scattered(request={"expected_run_s": 600})
    (move,) = approved(world).plan.moves
    assert move.to is not None
    world.settle()
    _maintenance(world, move.to.domain)
    world.now += MINUTE
    world.settle()
    assert world.job(job).state is JobState.RUNNING


def test_a_maintenance_that_is_set_between_two_steps_stops_the_second() -> None:
    world = World(racks(3, nodes=WIDTH), policy())
    small = [world.run(ask(1)) for _ in range(3 * WIDTH)]
    world.now += HOUR
    for rack, leave in (("r1", 2), ("r2", 1), ("r3", 1)):
        for job in [job for job in small if job.slices[0].domain == rack][:leave]:
            world.finish(job.id)
    world.run(ask(WIDTH, slice_size=WIDTH))
    world.now += 5 * MINUTE
    first, second = approved(world).plan.moves
    assert second.to is not None
    world.settle()
    world.finish(first.job)
    world.run_pass()
    assert [event.step for event in only(world, defrag.DefragStepDone)] == [0]
    _maintenance(world, second.to.domain)
    world.now += MINUTE
    world.settle()
    assert only(world, jobs.SliceMoved) == []
    (ended,) = only(world, defrag.DefragAborted)
    assert ended.reason == f"the rack of {second.to.nodes[0]} has its maintenance before job {second.job} would end"


def test_a_victim_that_ends_by_itself_needs_no_move() -> None:
    world, job = scattered()
    (move,) = approved(world).plan.moves
    world.settle()
    world.finish(move.job)
    world.settle()
    assert only(world, jobs.SliceMoved) == []
    assert [event.step for event in only(world, defrag.DefragStepDone)] == [0]
    assert world.job(job).state is JobState.RUNNING
    assert (world.state.defrag, world.state.reservations) == ({}, {})


def test_what_was_freed_stays_kept_for_the_job_until_the_limit() -> None:
    world, job = _moving()
    (known,) = world.state.defrag.values()
    world.mark(known.plan.nodes[0], NodeVerb.FAIL)
    world.settle()
    assert len(only(world, defrag.DefragAborted)) == 1
    assert set(world.state.reservations[job].nodes) < set(known.plan.nodes)
    world.run(ask(2))
    late = world.run(ask(2))
    assert late.state is JobState.WAITING, "small work does not take it"
    world.now += HOUR
    world.settle()
    assert world.job(late.id).state is JobState.RUNNING


def test_a_plan_goes_on_from_wherever_the_log_ends() -> None:
    """After each event: the state comes back from its dump, the connector does again what was asked, and the plan is carried out once.

    Not between a move and the stop that goes with it: a decision is stored as one.
    """
    whole, job = scattered()
    approved(whole)
    first = whole.state.seq
    whole.settle()
    whole.now += MINUTE
    whole.settle()
    for cut in range(first, whole.state.seq + 1):
        if isinstance(whole.log.events[cut - 1].payload, jobs.SliceMoved):
            continue
        world = _restarted(whole, cut, first)
        world.settle()
        world.now += MINUTE
        world.settle()
        assert world.job(job).state is JobState.RUNNING, cut
        assert (world.state.defrag, world.state.reservations) == ({}, {}), cut
        times = Counter(kinds(world, 0))
        once = ("SliceMoved", "DefragStepDone", "DefragFinished", "CheckpointRequested", "WorkLost")
        assert {kind: times[kind] for kind in once} == dict.fromkeys(once, 1), cut


def _restarted(whole: World, cut: int, asked: int) -> World:
    world = World(racks(1, nodes=1))
    world.log = Log()
    for event in whole.log.events[:cut]:
        world.log.add(event.payload, at=event.occurred_at, source=event.source)
    world.log.state = load_state(dump_state(world.log.state))
    world.log.sound()
    world.now = whole.now
    world._told = asked
    return world


@settings(max_examples=60)
@given(st.data())
def test_whatever_comes_between_a_plan_ends_and_all_invariants_hold(data: st.DataObject) -> None:
    """The World checks the invariants after each event."""
    mode = data.draw(st.sampled_from([DefragMode.SUGGEST, DefragMode.AUTO]))
    recovery = data.draw(st.sampled_from(list(Recovery)))
    world, _ = scattered(mode, count=4, request={"recovery": recovery}, defrag_may_wait=data.draw(st.booleans()), defrag_cooldown_s=0)
    for _ in range(data.draw(st.integers(1, 14))):
        _something(world, data)
    for _ in range(3):
        world.now += HOUR
        world.settle()
        world.do(ReviewPlans())
    assert not any(known.status is PlanStatus.RUNNING for known in world.state.defrag.values())
    assert not any(kept.expires_at is not None for kept in world.state.reservations.values())
    assert not any(job.leaving for job in world.state.jobs.values())
    ended = len(only(world, defrag.DefragFinished)) + len(only(world, defrag.DefragAborted))
    assert len(only(world, defrag.DefragPlanned)) == ended + len(world.state.defrag)
    for reserved in only(world, SpaceReserved):
        assert len(set(reserved.nodes)) == len(reserved.nodes)


def _something(world: World, data: st.DataObject) -> None:
    """Anything that a person, a node, work or time does."""
    what = data.draw(st.sampled_from(sorted(_HAPPENINGS)))
    _HAPPENINGS[what](world, data)


def _plan(world: World, _: st.DataObject) -> None:
    plan = search(world)
    if plan is not None:
        propose(world, plan)
    for known in list(world.state.defrag.values()):
        world.do(ApprovePlan(plan=known.id, by="op"))


def _time(world: World, data: st.DataObject) -> None:
    world.now += data.draw(st.sampled_from([SECOND, MINUTE, 20 * MINUTE]))


def _finish(world: World, data: st.DataObject) -> None:
    running = sorted(job.id for job in world.state.jobs.values() if job.state is JobState.RUNNING)
    if running:
        world.finish(data.draw(st.sampled_from(running)))


def _cancel(world: World, data: st.DataObject) -> None:
    if world.state.jobs:
        world.do(CancelJob(job=data.draw(st.sampled_from(sorted(world.state.jobs))), by="ada"))


def _submit(world: World, data: st.DataObject) -> None:
    nodes = data.draw(st.sampled_from([1, 2, WIDTH]))
    world.submit(ask(nodes, slice_size=nodes))


def _mark(world: World, data: st.DataObject) -> None:
    verb = data.draw(st.sampled_from([NodeVerb.FAIL, NodeVerb.REPAIR, NodeVerb.DRAIN, NodeVerb.UNDRAIN]))
    world.mark(data.draw(st.sampled_from(sorted(world.state.nodes))), verb)


_HAPPENINGS: dict[str, Callable[[World, st.DataObject], object]] = {
    "cancel": _cancel,
    "connect": lambda world, _: world.connect(),
    "finish": _finish,
    "mark": _mark,
    "pass": lambda world, _: world.run_pass(),
    "plan": _plan,
    "plan again": _plan,
    "settle": lambda world, _: world.settle(),
    "submit": _submit,
    "time": _time,
}
