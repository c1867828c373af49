"""How often lost nodes of one job are replaced in an hour, and what a job does that has had so many."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.domain.commands import CancelJob, ChangePolicy, NodeVerb
from clusters.domain.decision import Refusal
from clusters.domain.dump import dump_state, load_state
from clusters.domain.events import Payload
from clusters.domain.ids import HOUR, MINUTE
from clusters.domain.job_events import JobRequeued, NodeSwapped, SliceMoved, SliceStalled, StopRequested
from clusters.domain.jobs import JobState, OnStall
from clusters.domain.policy import Policy
from clusters.domain.setting import MAX_RECOVERIES, DefragMode
from clusters.domain.space_events import SpareReclaimed
from clusters.domain.state import Job
from scheduling.domain.counterfactuals import Kind
from scheduling.domain.deadlines import next_deadline
from scheduling.domain.defrag_trigger import causes, left_alone
from scheduling.domain.refusals import explain
from scheduling.domain.why import why
from tests.domain.scheduling.counterfactuals.applying import asked, comes_true
from tests.support.world import World, ask, racks


def limited(recoveries: int, **fields: Any) -> Policy:
    return Policy(**{"target_spares": 0, "recoveries_per_hour": recoveries, **fields})


def lose(world: World, job: Job, *places: tuple[int, int]) -> list[Payload]:
    """The nodes in these slots of these slices fail; what is done about it."""
    for number, slot in places:
        node = job.slices[number].nodes[slot]
        assert node is not None
        world.mark(node, NodeVerb.FAIL)
    return world.settle()


def lose_one_a_minute(world: World, job: Job, count: int) -> list[Payload]:
    events: list[Payload] = []
    for _ in range(count):
        events += lose(world, job, (0, 0))
        world.now += MINUTE
    return events


def recoveries(events: list[Payload]) -> list[str]:
    return [type(event).__name__ for event in events if isinstance(event, NodeSwapped | SliceMoved)]


def activate(world: World, policy: Policy) -> None:
    world.do(ChangePolicy(policy=policy, expected=world.state.policy_version, by="op", reason="test"))


def held(recoveries: int = 2, **fields: Any) -> tuple[World, Job]:
    """A job of 4 nodes on a rack with enough spares, that has had its recoveries, at 0:00, 0:01 and so on, and has lost one node more."""
    world = World(racks(2), limited(recoveries, **fields))
    job = world.run(ask(4))
    lose_one_a_minute(world, job, recoveries)
    lose(world, job, (0, 1))
    return world, job


def test_a_job_that_has_had_its_recoveries_holds_and_says_until_when() -> None:
    world, job = held()
    assert (job.state, job.swaps, job.blocked) == (JobState.STALLED, 2, "recovery_budget")
    (told,) = [event.payload for event in world.log.events if isinstance(event.payload, SliceStalled)]
    assert told.counts == {"limit": 2, "recoveries": 2, "until": HOUR}
    assert world.run_pass() == []
    answer = why(world.state, job, world.now)
    assert (answer.code, answer.text) == (
        "recovery_budget",
        "its lost nodes were replaced 2 times in the last hour, the policy's limit; it goes on at 1970-01-01 01:00 UTC",
    )
    beyond = Refusal(code=told.code, counts={**told.counts, "recoveries": 3})
    assert explain(beyond).startswith(
        "its lost nodes were replaced 3 times in the last hour, more than the policy's limit of 2; it goes on at"
    )


def test_it_goes_on_when_the_oldest_recovery_leaves_the_hour_and_not_before() -> None:
    world, job = held()
    assert next_deadline(world.state, world.now) == HOUR
    world.now = HOUR - 1
    assert world.settle() == []
    world.now = HOUR
    assert recoveries(world.settle()) == ["NodeSwapped"]
    assert (job.state, job.recoveries) == (JobState.RUNNING, [MINUTE, HOUR])
    assert next_deadline(world.state, world.now) is None


@pytest.mark.parametrize("limit", [0, 3])
def test_it_goes_on_at_once_under_a_policy_that_allows_more(limit: int) -> None:
    world, job = held()
    activate(world, limited(limit))
    assert recoveries(world.settle()) == ["NodeSwapped"]
    assert job.state is JobState.RUNNING


def test_a_limit_that_is_changed_but_still_reached_is_told_anew() -> None:
    world, job = held(3)
    activate(world, limited(2))
    assert [event.counts["until"] for event in world.settle() if isinstance(event, SliceStalled)] == [HOUR + MINUTE]
    assert job.counts == {"limit": 2, "recoveries": 3, "until": HOUR + MINUTE}


def test_without_a_limit_one_spare_after_another_is_taken() -> None:
    world = World(racks(2), limited(0))
    job = world.run(ask(4))
    assert len(recoveries(lose_one_a_minute(world, job, 14))) == 14
    assert job.state is JobState.RUNNING


def test_a_job_that_holds_can_be_cancelled() -> None:
    world, job = held()
    world.do(CancelJob(job=job.id, by="ada"))
    world.settle()
    assert job.state is JobState.CANCELLED
    assert next_deadline(world.state, world.now) is None


def test_a_slice_that_begins_under_the_limit_may_go_beyond_it_and_each_swap_counts() -> None:
    world = World(racks(2), limited(2))
    job = world.run(ask(4))
    lose(world, job, (0, 0))
    world.now += MINUTE
    assert len(recoveries(lose(world, job, (0, 1), (0, 2), (0, 3)))) == 3
    assert job.recoveries == [0, MINUTE, MINUTE, MINUTE]
    lose(world, job, (0, 0))
    assert (job.state, job.counts["recoveries"], job.counts["until"]) == (JobState.STALLED, 4, HOUR + MINUTE)


def test_the_limit_is_looked_at_before_each_slice() -> None:
    world = World(racks(4), limited(2, slice_size=4))
    job = world.run(ask(8))
    events = lose(world, job, (0, 0), (0, 1), (1, 0))
    assert recoveries(events) == ["NodeSwapped", "NodeSwapped"]
    assert (job.state, job.blocked, job.slices[0].lost) == (JobState.STALLED, "recovery_budget", {})


def test_a_slice_without_a_place_is_told_the_limit_once_another_has_reached_it() -> None:
    """Room is not what it lacks: no plan is to be made for it."""
    world = World(racks(2, nodes=5), limited(1, slice_size=4))
    job = world.run(ask(8))
    events = lose(world, job, (0, 0), (0, 1), (1, 0))
    assert recoveries(events) == ["NodeSwapped"]
    assert [(event.slice, event.code) for event in events if isinstance(event, SliceStalled)] == [(0, "recovery_budget")]


def test_a_move_counts_once_whatever_it_replaces() -> None:
    world = World(racks(3, nodes=5), limited(2))
    job = world.run(ask(4))
    assert recoveries(lose(world, job, (0, 0), (0, 1))) == ["SliceMoved"]
    assert job.recoveries == [0]
    world.now += MINUTE
    assert recoveries(lose(world, job, (0, 0))) == ["NodeSwapped"]
    lose(world, job, (0, 0))
    assert job.blocked == "recovery_budget"


def test_a_repaired_node_is_not_claimed_by_a_job_that_holds() -> None:
    world, job = held(target_spares=2)
    lost = next(iter(job.slices[0].lost.values()))
    world.mark(lost, NodeVerb.REPAIR)
    assert recoveries(world.settle()) == []
    waiting = world.submit(ask(1))
    world.settle()
    assert world.job(waiting).state is JobState.RUNNING


@pytest.mark.parametrize("on_stall", [OnStall.RESTART, OnStall.SHRINK])
def test_a_job_that_holds_does_not_start_anew(on_stall: OnStall) -> None:
    world = World(racks(2), limited(1))
    job = world.run(ask(4, on_stall=on_stall))
    lose_one_a_minute(world, job, 1)
    events = lose(world, job, (0, 0))
    assert not any(isinstance(event, StopRequested | JobRequeued) for event in events)
    assert job.state is JobState.STALLED


def test_no_lent_spare_is_taken_back_for_it() -> None:
    for limit, reclaimed in ((2, True), (1, False)):
        world = World(racks(1), limited(limit, target_spares=2, lending=True))
        job = world.run(ask(16))
        lose_one_a_minute(world, job, 1)
        borrower = world.run(ask(1))
        assert world.state.lent == {"r1-n18": borrower.id}
        events = lose(world, job, (0, 1))
        assert any(isinstance(event, SpareReclaimed) for event in events) == reclaimed


def test_no_room_is_made_for_it() -> None:
    world, job = held(defrag_mode=DefragMode.AUTO)
    assert list(causes(world.state, world.now)) == []
    job.unwanted_at = world.now
    assert list(left_alone(world.state, world.now)) == []


def test_what_would_let_it_go_on_is_time_or_a_higher_limit() -> None:
    world, job = held()
    found = asked(world, job.id)
    assert list(found) == [Kind.TIME, Kind.POLICY]
    assert found[Kind.TIME].at == HOUR
    assert found[Kind.POLICY].params == {"setting": "recoveries_per_hour", "value": 3}
    assert all(comes_true(world, job.id, answer) for answer in found.values())


def test_the_limit_that_is_named_is_the_least_that_makes_all_slices_whole() -> None:
    world = World(racks(4), limited(2, slice_size=4))
    job = world.run(ask(12))
    lose_one_a_minute(world, job, 2)
    lose(world, job, (0, 0), (0, 1), (1, 0), (2, 0))
    value = asked(world, job.id)[Kind.POLICY].params["value"]
    assert value == 6
    activate(world, limited(5, slice_size=4))
    world.settle()
    assert job.state is JobState.STALLED


def test_where_no_more_could_be_named_the_answer_is_no_limit() -> None:
    world, job = held()
    job.recoveries[:] = [world.now] * MAX_RECOVERIES
    activate(world, limited(MAX_RECOVERIES))
    assert asked(world, job.id)[Kind.POLICY].params == {"setting": "recoveries_per_hour", "value": 0}


def test_what_is_remembered_of_a_job_is_bounded_and_follows_from_a_snapshot() -> None:
    world = World(racks(2), limited(0))
    job = world.run(ask(4))
    job.recoveries = [0] * MAX_RECOVERIES
    world.now = MINUTE
    lose(world, job, (0, 0))
    assert len(job.recoveries) == MAX_RECOVERIES
    assert dump_state(load_state(dump_state(world.state))) == dump_state(world.state)
    world.now = HOUR
    lose(world, job, (0, 0))
    assert job.recoveries == [MINUTE, HOUR]
