"""Nodes kept for jobs that wait: when, where, for how long, and who may use them meanwhile."""

from __future__ import annotations

import pytest

from clusters.domain.books import Use
from clusters.domain.books_of import read_books
from clusters.domain.commands import CancelJob, ChangePolicy, HoldJob, NodeVerb, RunPass
from clusters.domain.decision import Decision
from clusters.domain.ids import HOUR, MINUTE
from clusters.domain.inventory_events import NodeRemoved
from clusters.domain.job_events import JobBlocked, JobPlaced, JobPreempted, StopRequested
from clusters.domain.jobs import JobRequest, JobState
from clusters.domain.policy import Policy
from clusters.domain.reservations import Reservation
from clusters.domain.setting import Backfill
from clusters.domain.space_events import SpaceFreed, SpaceReserved
from scheduling.domain.deadlines import next_deadline
from scheduling.domain.limits import LAUNCH, STOP
from tests.support.hours import Hours
from tests.support.world import World, ask, racks

EASY = Policy(backfill=Backfill.EASY, target_spares=0)


def limited(nodes: int, hours: float, **fields: object) -> JobRequest:
    return ask(nodes, time_limit_s=round(hours * 3600), **fields)


def kept_for(world: World, name: str) -> Reservation:
    return world.state.reservations[name]


def busy(hours: tuple[float, ...], policy: Policy = EASY) -> World:
    """A rack for each, with 16 nodes in use for so long at most."""
    world = World(racks(len(hours)), policy)
    for length in hours:
        world.run(limited(16, length))
    return world


# ---- when and where


def test_a_blocked_job_is_promised_the_first_time_at_which_it_fits_by_the_limits_of_what_runs() -> None:
    world = busy((3, 1, 2))
    world.submit(ask(32))
    (reserved, _) = world.run_pass()
    assert isinstance(reserved, SpaceReserved)
    assert reserved.starts_at == 2 * HOUR + STOP
    assert {node.split("-")[0] for node in reserved.nodes} == {"r2", "r3"}
    assert len(reserved.nodes) == 32
    assert reserved.reason == f"starts once job {sorted(world.state.jobs)[2]} has ended"
    assert world.run_pass() == [], "it stands, so nothing is said again"


def test_the_time_is_when_a_set_of_domains_is_free_and_not_when_nodes_are() -> None:
    world = World(racks(2), EASY)
    for hours in (1, 2, 1, 2):
        world.run(limited(9, hours))  # r1: 1 h and 2 h, r2 likewise
    world.submit(ask(16))
    world.run_pass()
    (kept,) = world.state.reservations.values()
    assert kept.starts_at == 2 * HOUR + STOP, "after an hour 18 nodes are free, 9 in each rack"


def test_kept_nodes_are_in_the_books_of_use() -> None:
    world = busy((1,))
    world.submit(ask(18, max_slice=18, slice_size=18))
    world.run_pass()
    assert read_books(world.state).use[Use.RESERVED] == 2


def test_nothing_is_kept_under_off_and_what_fits_starts() -> None:
    world = busy((1, 2), Policy(backfill=Backfill.OFF, target_spares=0))
    world.submit(ask(32))
    little = world.submit(ask(2))
    assert [type(event) for event in world.run_pass()] == [JobPlaced, JobBlocked]
    assert world.job(little).state is JobState.PLACED


def test_easy_keeps_nodes_for_the_first_jobs_and_conservative_for_all() -> None:
    counts = {}
    for policy in (Policy(reservation_depth=1), Policy(reservation_depth=3), Policy(backfill=Backfill.CONSERVATIVE)):
        world = busy((1, 2), policy)
        for nodes in (16, 15, 14, 13, 16, 16):
            world.submit(ask(nodes))
        world.settle()
        counts[policy.backfill, policy.reservation_depth] = len(world.state.reservations)
    assert counts == {(Backfill.EASY, 1): 1, (Backfill.EASY, 3): 3, (Backfill.CONSERVATIVE, 4): 6}


def test_a_second_job_is_promised_what_the_first_leaves_or_its_nodes_after_it() -> None:
    world = busy((1, 2))
    first, second, third = (world.submit(limited(16, 5)) for _ in range(3))
    world.run_pass()
    starts = [kept_for(world, name).starts_at for name in (first, second, third)]
    assert starts == [HOUR + STOP, 2 * HOUR + STOP, HOUR + STOP + LAUNCH + 5 * HOUR + STOP]
    assert kept_for(world, third).reason == f"starts after job {first}, which waits before it"


def test_nodes_in_use_beyond_a_promise_are_not_taken_to_be_free_after_it() -> None:
    """Two promises that a job with more points has overrun: each of the two jobs would start after the other, later pass after pass."""
    world = busy((1,))
    first, second = world.submit(limited(6, 0.2)), world.submit(limited(6, 0.2))
    world.run_pass()
    world.submit(ask(18, max_slice=18, slice_size=18, priority=5))
    world.finish(min(world.state.jobs))
    reserved = [event for event in world.settle() if isinstance(event, SpaceReserved)]
    assert [event.job for event in reserved] == [first, second]
    assert {event.starts_at for event in reserved} == {LAUNCH + 24 * HOUR + STOP}


# ---- who may use them meanwhile


@pytest.mark.parametrize(
    ("request_", "starts"),
    [
        (limited(2, 0.5), True),
        (limited(2, 3), False),
        (ask(2, expected_run_s=1800), True),
        (ask(2, expected_run_s=1800, restartable=False), False),
        (ask(2, expected_run_s=4 * 3600), False),
        (ask(2), False),
        (ask(gpus=1, expected_run_s=1800), True),
        (ask(gpus=1), False),
        (ask(2, priority=1), True),
    ],
)
def test_kept_nodes_are_for_what_has_ended_by_then_or_can_be_made_to(request_: JobRequest, starts: bool) -> None:
    world = busy((1,))
    name = world.submit(ask(18, max_slice=18, slice_size=18))
    world.run_pass()
    other = world.submit(request_)
    world.run_pass()
    assert (world.job(other).state is JobState.PLACED) == starts
    if request_.priority == 0:
        assert kept_for(world, name).starts_at == HOUR + STOP


def test_other_nodes_are_for_anybody() -> None:
    world = busy((1, 9))
    world.submit(ask(18, max_slice=18, slice_size=18))
    world.run_pass()
    other = world.submit(ask(2))
    world.run_pass()
    assert world.job(other).slices[0].domain == "r2"


def test_work_that_stays_beyond_its_time_gives_way_when_the_promise_is_due() -> None:
    world = busy((1,))
    large = world.submit(ask(18, max_slice=18, slice_size=18))
    world.run_pass()
    other = world.run(ask(2, expected_run_s=1800)).id
    due = kept_for(world, large).starts_at
    world.now = next_deadline(world.state, 0) or 0
    assert world.now == HOUR == due - STOP
    events = world.run_pass()
    assert [type(event) for event in events] == [StopRequested, JobPreempted, StopRequested]
    assert events[1] == JobPreempted(job=other, generation=1, by=large, reason=f"its time is over, and job {large} was promised its nodes")
    world.settle()
    assert world.job(large).placed_at == HOUR
    assert world.job(other).preemptions == 1


def test_nothing_is_sent_away_while_somebody_else_stays() -> None:
    world = World(racks(1), EASY)
    world.run(ask(8, expected_run_s=3600, restartable=False))
    world.submit(ask(16))
    world.run_pass()
    other = world.run(ask(2, expected_run_s=1800))
    world.now = HOUR + STOP
    assert [type(event) for event in world.run_pass()] == [SpaceReserved]
    assert other.state is JobState.RUNNING


def test_who_was_there_before_the_promise_is_not_sent_away() -> None:
    world = World(racks(1), EASY)
    before = world.run(ask(16, expected_run_s=3600))
    name = world.submit(ask(16))
    world.run_pass()
    first = kept_for(world, name).starts_at
    world.now = first
    assert [type(event) for event in world.run_pass()] == [SpaceReserved]
    assert before.state is JobState.RUNNING
    assert kept_for(world, name).starts_at > first


# ---- made anew


def test_a_promise_is_made_anew_when_a_node_fails_and_when_a_swap_takes_one() -> None:
    for broken in ("r1-n18", "r1-n1"):
        world = busy((1, 5))
        name = world.submit(ask(18, max_slice=18, slice_size=18))
        world.run_pass()
        assert kept_for(world, name).starts_at == HOUR + STOP
        since = kept_for(world, name).since
        world.mark(broken, NodeVerb.FAIL)
        world.settle()
        assert kept_for(world, name).starts_at == 5 * HOUR + STOP
        assert kept_for(world, name).since == since


def test_a_promise_is_made_anew_when_a_node_that_was_kept_is_gone_once_the_time_has_come() -> None:
    world = busy((1, 5))
    name = world.submit(ask(18, max_slice=18, slice_size=18))
    world.run_pass()
    world.now = kept_for(world, name).starts_at
    world.add(NodeRemoved(node="r1-n18", reason="sold"))
    world.settle()
    assert kept_for(world, name).starts_at == 5 * HOUR + STOP


def test_a_promise_is_made_anew_where_the_job_could_start_much_sooner_and_only_there() -> None:
    world = busy((5, 6))
    first, second = sorted(world.state.jobs)
    name = world.submit(ask(32))
    world.run_pass()
    assert kept_for(world, name).starts_at == 6 * HOUR + STOP
    world.finish(second)
    world.settle()
    assert kept_for(world, name).starts_at == 5 * HOUR + STOP
    world.finish(first)
    world.settle()
    assert world.job(name).state is JobState.RUNNING


def test_a_job_that_is_ready_before_its_time_starts_on_its_nodes_although_they_are_promised_to_the_next_one_later() -> None:
    world = busy((5,))
    (running,) = world.state.jobs
    first, second = world.submit(ask(16)), world.submit(ask(14))
    world.run_pass()
    assert world.state.reservations.keys() == {first, second}
    world.finish(running)
    world.settle()
    assert [world.job(name).state for name in (first, second)] == [JobState.RUNNING, JobState.WAITING]


def test_a_job_that_wrong_estimates_keep_waiting_still_goes_before_an_equal_one_behind_it() -> None:
    hours = Hours(racks(2), EASY)
    hours.submit(ask(16, expected_run_s=3600, restartable=False), 50 * HOUR)  # it was to end first, and stays
    hours.submit(limited(16, 1.75), 105 * MINUTE)
    first, second = (hours.submit(limited(16, 5), 5 * HOUR) for _ in range(2))
    assert hours.first[first] < hours.first[second]
    hours.go(100 * HOUR)
    assert hours.started[first] == 105 * MINUTE
    assert hours.started[second] == 105 * MINUTE + 5 * HOUR


@pytest.mark.parametrize("how", ["cancel", "hold", "off"])
def test_nothing_is_kept_for_jobs_that_wait_no_longer(how: str) -> None:
    world = busy((1,))
    name = world.submit(ask(16))
    world.run_pass()
    if how == "cancel":
        world.do(CancelJob(job=name, by="ada"))
    elif how == "hold":
        world.do(HoldJob(job=name, by="ada"))
    else:
        world.do(ChangePolicy(policy=Policy(backfill=Backfill.OFF, target_spares=0), expected=1, by="op", reason="test"))
        assert SpaceFreed(job=name, reason="the policy keeps no nodes for jobs that wait") in world.run_pass()
    assert world.state.reservations == {}
    assert not any(world.state.space.reserved)


def test_part_of_a_node_is_kept_though_others_stay_on_the_rest_of_it() -> None:
    """What is kept is told once: a pass that told the same again would call for another pass, and so for ever."""
    world = World(racks(1, nodes=1))
    world.run(ask(None, gpus=3, expected_run_s=600))
    world.run(ask(None, gpus=1, expected_run_s=86_400))
    name = world.submit(ask(None, gpus=3))
    assert isinstance(world.do(RunPass()), Decision)
    assert name in world.state.reservations
    again = world.do(RunPass())
    assert isinstance(again, Decision)
    assert not again.events
