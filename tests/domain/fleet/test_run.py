"""How far a job's work has come, and what is told of it."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.connectors.base import Slot, Work
from clusters.connectors.simulated.run import Run
from clusters.connectors.simulated.truth import CANCELLED, FAILED, FINISHED, Truth
from clusters.domain.ids import HOUR, MINUTE, SECOND
from clusters.domain.job_events import JobCancelled, JobFailed, JobFinished, WorkStarted, WorkStopped
from clusters.domain.jobs import Recovery
from tests.domain.fleet.stage import ask

LAUNCH = 20 * SECOND


def slots(*nodes: str) -> tuple[Slot, ...]:
    return tuple(Slot(slice=0, slot=number, node=node) for number, node in enumerate(nodes))


def a_run(*nodes: str, outcome: str = FINISHED, hours: float = 10, **fields: Any) -> Run:
    """A job whose work runs on the nodes since time 0."""
    work = Work(job="j1", request=ask(len(nodes), **fields))
    run = Run(work, Truth(duration=round(hours * HOUR), outcome=outcome))
    run.start(1, slots(*nodes), 0)
    run.started(1, nodes, 0)
    return run


def test_work_is_told_started_after_the_launch_and_ends_after_its_duration_of_work() -> None:
    run = Run(Work(job="j1", request=ask(2)), Truth(duration=HOUR, outcome=FINISHED))
    run.start(1, slots("a", "b"), LAUNCH)
    assert run.due == LAUNCH
    assert list(run.facts(LAUNCH)) == [("w/j1/1/start", WorkStarted(job="j1", generation=1, nodes=("a", "b")))]
    run.started(1, ("a", "b"), LAUNCH)
    assert run.due == LAUNCH + HOUR
    assert list(run.facts(LAUNCH + HOUR)) == [
        ("w/j1/1/end", JobFinished(job="j1", generation=1)),
        ("w/j1/1/ended", WorkStopped(job="j1", generation=1, nodes=("a", "b"), reason="finished")),
    ]


@pytest.mark.parametrize(
    ("outcome", "end"),
    [
        (FAILED, JobFailed(job="j1", generation=1, reason="its program exited with an error")),
        (CANCELLED, JobCancelled(job="j1", reason="cancelled by its user")),
    ],
)
def test_a_job_ends_as_it_is_fated_to(outcome: str, end: object) -> None:
    run = a_run("a", outcome=outcome)
    assert next(fact for _, fact in run.facts(10 * HOUR)) == end


def test_nothing_runs_before_every_slot_does() -> None:
    run = Run(Work(job="j1", request=ask(2)), Truth(duration=HOUR, outcome=FINISHED))
    run.start(1, slots("a", "b"), LAUNCH)
    run.started(1, ("a",), LAUNCH)
    assert run.progress(5 * HOUR) == 0


def test_a_lost_node_sends_the_whole_job_back_to_its_last_checkpoint_and_the_work_stands_still() -> None:
    run = a_run("a", "b", checkpoint_interval_s=1800)
    run.stopped(1, ("b",), 100 * MINUTE)
    assert run.progress(200 * MINUTE) == 90 * MINUTE
    assert run.due is None
    run.start(2, [Slot(slice=0, slot=1, node="c")], 200 * MINUTE)
    run.started(2, ("c",), 200 * MINUTE)
    assert run.due == 200 * MINUTE + 10 * HOUR - 90 * MINUTE


def test_work_that_does_not_say_saves_every_hour_and_with_a_peer_nothing_is_lost() -> None:
    for recovery, left in ((Recovery.CHECKPOINT, 60 * MINUTE), (Recovery.PEER, 100 * MINUTE)):
        run = a_run("a", "b", recovery=recovery)
        run.stopped(1, ("b",), 100 * MINUTE)
        assert run.progress(300 * MINUTE) == left


def test_with_no_peer_left_recovery_from_a_peer_goes_back_to_the_checkpoint() -> None:
    run = a_run("a", "b", recovery=Recovery.PEER)
    run.stopped(1, ("a", "b"), 100 * MINUTE)
    assert run.progress(300 * MINUTE) == 60 * MINUTE


def test_a_second_loss_while_it_stands_still_costs_no_more() -> None:
    run = a_run("a", "b", "c")
    run.stopped(1, ("b",), 100 * MINUTE)
    run.stopped(1, ("c",), 150 * MINUTE)
    assert run.progress(300 * MINUTE) == 60 * MINUTE


def test_a_moved_slice_runs_on_its_new_nodes_while_the_old_ones_are_still_stopping() -> None:
    run = a_run("a", "b")
    run.stopped(1, ("b",), 90 * MINUTE)
    run.start(2, slots("c", "d"), 91 * MINUTE)
    run.stop(2, ("a",), 100 * MINUTE)
    run.started(2, ("c", "d"), 91 * MINUTE)
    assert not run.halting
    assert run.progress(121 * MINUTE) == 90 * MINUTE
    assert list(run.facts(100 * MINUTE)) == [
        (f"w/j1/2/stop/{100 * MINUTE}", WorkStopped(job="j1", generation=2, nodes=("a",), reason="stopped as told"))
    ]
    run.stopped(2, ("a",), 100 * MINUTE)
    assert run.progress(121 * MINUTE) == 90 * MINUTE
    assert sorted(run.nodes) == ["c", "d"]


def test_what_is_told_to_stop_everywhere_does_not_finish_and_resumes_from_its_checkpoint_when_placed_again() -> None:
    run = a_run("a", "b", hours=2)
    run.stop(1, ("a", "b"), 2 * HOUR + MINUTE)
    assert run.due == 2 * HOUR + MINUTE
    run.stopped(1, ("a", "b"), 2 * HOUR - 10 * MINUTE)
    assert run.due is None
    run.start(2, slots("c", "d"), 3 * HOUR)
    run.started(2, ("c", "d"), 3 * HOUR)
    assert run.due == 4 * HOUR


def test_effects_given_twice_or_late_work_once() -> None:
    run = a_run("a", "b")
    run.start(1, slots("x", "y"), HOUR)
    run.start(0, slots("x", "y"), HOUR)
    assert sorted(run.nodes) == ["a", "b"]
    run.stop(1, ("a",), 5 * MINUTE)
    run.stop(1, ("a",), 50 * MINUTE)
    assert run.due == 5 * MINUTE


def test_reports_of_an_older_generation_leave_newer_work_alone() -> None:
    run = a_run("a", "b")
    run.stopped(1, ("b",), HOUR)
    run.start(2, [Slot(slice=0, slot=1, node="b")], HOUR)
    run.stopped(1, ("b",), HOUR)
    assert run.nodes == {"a": 1, "b": 2}


def test_work_on_a_dead_node_is_told_dead_and_never_ends_well() -> None:
    run = a_run("a", "b", hours=1)
    run.doom("b", HOUR)
    assert list(run.facts(HOUR)) == [("w/j1/1/dead/b", WorkStopped(job="j1", generation=1, nodes=("b",), reason="its node failed"))]
