"""Time limits, and the times at which a pass is due."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.domain.commands import CancelJob, NodeVerb
from clusters.domain.dump import dump_state, load_state
from clusters.domain.ids import DAY, HOUR, MINUTE, SECOND
from clusters.domain.job_events import AfterStop, JobCancelled, JobFailed, NodeSwapped, StopRequested, WorkLost
from clusters.domain.jobs import JobState
from clusters.domain.policy import Policy
from scheduling.domain.deadlines import next_deadline
from scheduling.domain.limits import LAUNCH, LEAST_STEP, STOP, ends_by, planned_end
from tests.support.world import World, ask, racks


def test_work_is_asked_to_stop_at_its_limit_and_the_job_fails_once_it_has() -> None:
    world = World(racks(2))
    job = world.run(ask(4, time_limit_s=3600))
    world.now = HOUR - 1
    assert world.run_pass() == []
    world.now = HOUR
    (stop,) = world.run_pass()
    assert isinstance(stop, StopRequested)
    assert (stop.job, set(stop.nodes), stop.after) == (job.id, set(job.held_nodes), AfterStop.FAILED)
    assert job.state is JobState.STOPPING
    world.connect()
    assert world.run_pass() == [JobFailed(job=job.id, generation=1, reason="ran to its time limit of 1 h")]
    assert world.state.ended[job.id] is JobState.FAILED


def test_work_that_ends_at_its_limit_by_itself_has_finished() -> None:
    world = World(racks(1))
    job = world.run(ask(4, time_limit_s=3600))
    world.now = HOUR
    world.run_pass()
    world.finish(job.id)
    assert world.run_pass() == []
    assert world.state.ended[job.id] is JobState.FINISHED


def test_a_user_may_still_cancel_what_is_being_stopped() -> None:
    world = World(racks(1))
    job = world.run(ask(4, time_limit_s=60))
    world.now = MINUTE
    world.run_pass()
    world.do(CancelJob(job=job.id, by="ada"))
    world.connect()
    assert [type(event) for event in world.run_pass()] == [JobCancelled]


def test_work_that_is_being_stopped_gets_no_new_node() -> None:
    world = World(racks(1))
    job = world.run(ask(4, time_limit_s=60))
    world.now = MINUTE
    world.mark(next(iter(job.held_nodes)), NodeVerb.FAIL)
    events = world.run_pass()
    assert [type(event) for event in events] == [StopRequested]


def test_the_limit_counts_from_the_first_start_also_over_a_swap() -> None:
    world = World(racks(1))
    job = world.run(ask(4, time_limit_s=3600))
    world.now = HOUR // 2
    world.mark(next(iter(job.held_nodes)), NodeVerb.FAIL)
    assert [type(event) for event in world.settle()] == [NodeSwapped, WorkLost]
    world.now = HOUR
    assert [type(event) for event in world.run_pass()] == [StopRequested]


def test_the_jobs_whose_limit_runs_follow_from_a_snapshot() -> None:
    world = World(racks(1))
    job = world.run(ask(4, time_limit_s=3600))
    world.run(ask(2))
    assert load_state(dump_state(world.state)).limited == world.state.limited == {job.id}


def test_deadlines_are_limits_and_starts_that_were_put_off() -> None:
    world = World(racks(2))
    assert next_deadline(world.state, 0) is None
    world.run(ask(2, time_limit_s=7200))
    world.run(ask(2, time_limit_s=3600))
    world.submit(ask(2, not_before=5 * HOUR))
    assert [next_deadline(world.state, after) for after in (0, HOUR - 1, HOUR, 2 * HOUR, 5 * HOUR)] == [
        HOUR,
        HOUR,
        2 * HOUR,
        5 * HOUR,
        None,
    ]


@pytest.mark.parametrize(
    ("fields", "end"),
    [
        ({"time_limit_s": 3600}, HOUR),
        ({"time_limit_s": 3600, "expected_run_s": 60}, HOUR),
        ({"expected_run_s": 60}, MINUTE),
        ({"expected_run_s": 60, "restartable": False}, None),
        ({}, None),
    ],
)
def test_what_ends_for_certain(fields: dict[str, Any], end: int | None) -> None:
    found = ends_by(ask(2, **fields), 5 * SECOND)
    assert found == (None if end is None else 5 * SECOND + LAUNCH + end + STOP)


def test_work_over_its_time_is_given_more_in_steps_that_double() -> None:
    world = World(racks(1))
    job = world.run(ask(2, expected_run_s=600))
    end = 600 * SECOND + STOP
    ends = [planned_end(job, Policy(), now) - end for now in range(0, end + HOUR, 30 * SECOND)]
    assert sorted(set(ends)) == [0, *(LEAST_STEP * 2**step for step in range(5))]
    assert ends == sorted(ends)


def test_work_that_tells_nothing_is_taken_to_run_as_the_policy_says() -> None:
    world = World(racks(1))
    job = world.run(ask(2))
    assert planned_end(job, Policy(default_run_s=3600), 0) == HOUR + STOP
    assert planned_end(job, Policy(default_run_s=3600), DAY) > DAY
