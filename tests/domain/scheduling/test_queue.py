"""The queue and the pass: order, what is told, and how much one decision does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clusters.domain.commands import CancelJob, NodeVerb, RunPass
from clusters.domain.decision import Decision, Refusal
from clusters.domain.dump import dump_state
from clusters.domain.events import Payload
from clusters.domain.ids import MINUTE, SECOND
from clusters.domain.job_events import (
    AfterStop,
    JobBlocked,
    JobCancelled,
    JobPlaced,
    JobRequeued,
    StopRequested,
    WorkStopped,
)
from clusters.domain.jobs import JobRequest, JobState
from clusters.domain.policy import Policy
from clusters.domain.setting import Backfill
from clusters.domain.space import Space
from clusters.domain.state import ClusterState
from scheduling.domain import trial
from scheduling.domain.decide import decide
from scheduling.domain.passes import EVENTS_PER_PASS, NODES_PER_PASS
from scheduling.domain.placement import Placement, place
from scheduling.domain.queue import RETOLD
from tests.support.world import World, ask, racks

#: Nothing is kept for jobs that wait.
LOOSE = Policy(backfill=Backfill.OFF)


def _placed(events: Sequence[Payload]) -> list[str]:
    return [event.job for event in events if isinstance(event, JobPlaced)]


def test_priority_comes_first_then_age() -> None:
    world = World(racks(3))
    names = [world.submit(ask(16, priority=priority)) for priority in (0, 5, 0, 5)]
    assert _placed(world.run_pass()) == [names[1], names[3], names[0]]


def test_a_refused_job_does_not_stop_those_behind_it() -> None:
    world = World(racks(1), LOOSE)
    world.run(ask(8))
    large, little = world.submit(ask(16)), world.submit(ask(4))
    assert _placed(world.run_pass()) == [little]
    assert world.job(large).state is JobState.WAITING


def test_each_distinct_request_is_tried_once_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(racks(1), LOOSE)
    world.run(ask(16))
    for _ in range(3):
        world.submit(ask(16))
        world.submit(ask(12))
    tried: list[int | None] = []

    def counted(space: Space, request: JobRequest, policy: Policy, recent: int) -> Placement | Refusal:
        tried.append(request.nodes)
        return place(space, request, policy, recent)

    monkeypatch.setattr(trial, "place", counted)
    events = world.run_pass()
    assert tried == [16, 12]
    assert len(events) == 6


def test_a_refusal_is_told_when_its_code_changes_and_not_each_pass() -> None:
    world = World(racks(2), LOOSE)
    running = [world.run(ask(16)) for _ in range(2)]
    name = world.submit(ask(16))
    (first,) = world.run_pass()
    assert isinstance(first, JobBlocked)
    assert first.code == "capacity-blocked"
    assert world.run_pass() == []
    world.finish(running[0].id)
    for node in range(1, 4):
        world.mark(f"r1-n{node}", NodeVerb.DRAIN)
    world.now += MINUTE
    (second,) = world.run_pass()
    assert isinstance(second, JobBlocked)
    assert (second.code, world.job(name).counts["nodes_draining"]) == ("topology-blocked", 3)


def test_reasons_that_change_back_and_forth_are_told_once_in_a_while() -> None:
    """Each pass finds another code than the one before; it is told once the one told last has stood for a minute."""
    world = World(racks(2))
    world.run(ask(16))
    world.mark("r2-n1", NodeVerb.DRAIN)
    others = [world.run(ask(16)).id]
    name = world.submit(ask(18, slice_size=18))
    for second in range(0, 200, 20):
        world.now = second * SECOND
        world.run_pass()
        if others:
            world.finish(others.pop())
        else:
            others.append(world.run(ask(16)).id)
    blocked = [event for event in world.log.events if isinstance(event.payload, JobBlocked) and event.subject == name]
    told = [(event.occurred_at // SECOND, event.payload.code) for event in blocked if isinstance(event.payload, JobBlocked)]
    assert told == [(0, "capacity-blocked"), (60, "topology-blocked"), (120, "capacity-blocked"), (180, "topology-blocked")]


def test_since_when_a_job_is_blocked_is_not_reset_by_looking_again() -> None:
    world = World(racks(1))
    world.run(ask(16))
    name = world.submit(ask(16))
    world.now = MINUTE
    world.run_pass()
    world.now = 10 * MINUTE
    world.submit(ask(16))
    world.run_pass()
    assert (world.job(name).blocked, world.job(name).blocked_since) == ("capacity-blocked", MINUTE)


def test_new_jobs_are_told_all_and_others_only_at_the_head_of_their_line() -> None:
    world = World(racks(2), LOOSE, checked=False)
    running = [world.run(ask(16)) for _ in range(2)]
    names = [world.submit(ask(17, slice_size=17)) for _ in range(RETOLD + 20)]
    first = [event.job for event in world.run_pass() if isinstance(event, JobBlocked)]
    assert first == names
    world.now = 2 * MINUTE
    domain = running[0].slices[0].domain
    world.finish(running[0].id)
    for node in range(1, 3):
        world.mark(f"{domain}-n{node}", NodeVerb.DRAIN)
    again = [(event.job, event.code) for event in world.run_pass() if isinstance(event, JobBlocked)]
    assert again == [(name, "topology-blocked") for name in names[:RETOLD]]
    assert world.run_pass() == []
    world.log.sound()


def test_a_line_of_jobs_that_are_alike_is_tried_once_however_long(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(racks(1), LOOSE, checked=False)
    world.run(ask(16))
    for _ in range(300):
        world.submit(ask(4, name="one of many"))
    world.run_pass()
    tried: list[JobRequest] = []

    def counted(space: Space, request: JobRequest, policy: Policy, recent: int) -> Placement | Refusal:
        tried.append(request)
        return place(space, request, policy, recent)

    monkeypatch.setattr(trial, "place", counted)
    assert world.run_pass() == []
    assert len(tried) == 1
    assert len(world.state.queue.lines) == 1


def test_what_a_job_frees_goes_to_what_waits() -> None:
    world = World(racks(1))
    running = world.run(ask(16))
    name = world.submit(ask(16))
    world.run_pass()
    world.finish(running.id)
    assert _placed(world.run_pass()) == [name]
    assert (world.job(name).blocked, world.job(name).counts) == ("", {})


def test_stopped_jobs_end_or_wait_again_as_was_asked() -> None:
    world = World(racks(3))
    cancelled, preempted = world.run(ask(16)), world.run(ask(16))
    world.do(CancelJob(job=cancelled.id, by="ada"))
    stop = StopRequested(
        job=preempted.id, generation=1, nodes=tuple(preempted.held_nodes), after=AfterStop.WAITING, reason="room for another"
    )
    world.add(stop)
    assert world.run_pass() == []
    world.connect()
    events = world.run_pass()
    assert events[:2] == [
        JobCancelled(job=cancelled.id, reason="cancelled by ada"),
        JobRequeued(job=preempted.id, reason="room for another"),
    ]
    assert _placed(events) == [preempted.id]
    assert (preempted.state, preempted.generation) == (JobState.PLACED, 2)
    assert world.state.ended == {cancelled.id: JobState.CANCELLED}


def test_a_large_pass_is_cut_into_small_decisions() -> None:
    world = World(racks(70), checked=False)
    for _ in range(EVENTS_PER_PASS + 5):
        world.submit(ask(gpus=1))
    for _ in range(NODES_PER_PASS // 16 + 1):
        world.submit(ask(16))
    sizes = []
    more = True
    while more:
        outcome = world.do(RunPass())
        assert isinstance(outcome, Decision)
        sizes.append(len(outcome.events))
        more = outcome.more
    assert sizes == [EVENTS_PER_PASS, 5 + NODES_PER_PASS // 16, 1]


def test_a_pass_with_nothing_to_do_decides_nothing() -> None:
    assert decide(World(racks(1)).state, RunPass(), 0) == Decision(events=(), more=False)
    assert decide(ClusterState(), RunPass(), 0) == Decision(events=(), more=False)


def test_deciding_leaves_the_state_as_it_was() -> None:
    world = World(racks(3))
    job = world.run(ask(32))
    world.mark("r1-n1", NodeVerb.FAIL)
    world.add(WorkStopped(job=job.id, generation=1, nodes=("r2-n4",)))
    world.submit(ask(4))
    world.submit(ask(gpus=1))
    before, space = dump_state(world.state), world.state.space.fork()
    assert len(_decided(world)) == 4
    assert dump_state(world.state) == before
    for field in Space.COMPARED:
        assert getattr(world.state.space, field) == getattr(space, field)


def _decided(world: World) -> tuple[Payload, ...]:
    outcome = decide(world.state, RunPass(), 0)
    assert isinstance(outcome, Decision)
    return outcome.events
