"""Whose turn it is: classes, ageing, own priority, quotas and shares; one total order, and what waits comes to its turn."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.domain.commands import HoldJob, ReleaseJob
from clusters.domain.dump import dump_state, load_state
from clusters.domain.ids import HOUR, MINUTE
from clusters.domain.job_events import AfterStop, JobPlaced, StopRequested
from clusters.domain.policy import Policy
from clusters.domain.setting import QueueOrder
from clusters.domain.teams import PriorityClass, Quota
from scheduling.domain.trial import Trial
from scheduling.domain.turns import BORROWING, SHARE, in_order
from tests.support.world import World, ask, racks


def ageing(*rows: tuple[str, int, int]) -> tuple[PriorityClass, ...]:
    return tuple(PriorityClass(name=name, priority=priority, ageing=points) for name, priority, points in rows)


def full(policy: Policy | None = None) -> World:
    """One rack in which nothing is free."""
    world = World(racks(1), policy)
    world.run(ask(18))
    return world


def test_classes_come_first_then_own_priority_then_who_has_waited_longest() -> None:
    world = full()
    batch, plain, urgent, production = (
        world.submit(ask(4, **fields)) for fields in ({"priority_class": "batch"}, {}, {"priority": 5}, {"priority_class": "production"})
    )
    world.now = MINUTE
    later = world.submit(ask(2, priority_class="standard"))
    assert world.order() == [production, urgent, plain, later, batch]


def test_a_job_that_has_waited_long_enough_overtakes_the_class_above() -> None:
    world = full()
    batch = world.submit(ask(4, priority_class="batch"))
    world.now = 25 * HOUR - 1
    before = world.submit(ask(4))
    world.now = 25 * HOUR + 1
    after = world.submit(ask(4))
    assert world.order() == [before, batch, after]


def test_with_classes_that_age_alike_no_two_jobs_change_places() -> None:
    world = full()
    for number in range(6):
        world.now = number * 9 * HOUR
        world.submit(ask(4, priority_class=("batch", "standard", "production")[number % 3], priority=number % 2))
    order = world.order()
    for hours in (60, 100, 1_000):
        world.now = hours * HOUR
        assert world.order() == order


def test_without_ageing_points_stay_and_age_only_breaks_ties() -> None:
    world = full(Policy(classes=ageing(("standard", 0, 0), ("low", -1, 0))))
    low = world.submit(ask(4, priority_class="low"))
    world.now = 1_000 * HOUR
    first, second = world.submit(ask(4)), world.submit(ask(2))
    assert world.order() == [first, second, low]


def test_a_class_that_is_gone_counts_as_the_first() -> None:
    world = full(Policy(classes=ageing(("a", 0, 0), ("b", 10, 0))))
    first, second = world.submit(ask(4, priority_class="b")), world.submit(ask(2))
    assert world.order() == [first, second]
    world.state.policy = Policy(classes=ageing(("a", 0, 0)))
    assert world.order() == [first, second]
    world.state.policy = Policy(classes=ageing(("c", 0, 0), ("b", -10, 0)))
    assert world.order() == [second, first]


def test_the_clock_of_a_job_stands_while_it_is_held() -> None:
    world = full()
    held = world.submit(ask(4))
    world.do(HoldJob(job=held, by="ada"))
    world.now = HOUR
    other = world.submit(ask(4))
    world.now = 3 * HOUR
    world.do(ReleaseJob(job=held, by="ada"))
    assert world.job(held).aged_from == 3 * HOUR
    assert world.order() == [other, held]


def test_preempted_work_keeps_the_hours_that_it_had_waited_and_no_more() -> None:
    world = World(racks(1))
    first = world.run(ask(18))
    waiting = world.submit(ask(16))
    world.now = 2 * HOUR
    world.finish(first.id)
    world.settle()
    job = world.job(waiting)
    world.now = 50 * HOUR
    world.add(StopRequested(job=waiting, generation=1, nodes=tuple(job.held_nodes), after=AfterStop.WAITING, reason="room"))
    world.connect()
    world.run_pass()
    assert job.generation == 2  # it is placed again at once, with the two hours it had
    assert world.now - job.aged_from == 2 * HOUR


def test_size_orders_jobs_of_the_same_whole_points() -> None:
    world = full(Policy(queue_order=QueueOrder.SIZE))
    large, small = world.submit(ask(12)), world.submit(ask(3))
    world.now = 14 * MINUTE  # at four points an hour, a whole one takes a quarter
    assert world.order() == [small, large]
    smallest = world.submit(ask(1))
    world.now = 16 * MINUTE
    assert world.order() == [small, large, smallest]


def test_a_job_by_which_its_team_would_borrow_loses_points_and_gets_them_back_by_waiting() -> None:
    world = full(Policy(quotas=(Quota(team="a", gpus=100), Quota(team="b", gpus=1_000))))
    first, beyond, other = world.submit(ask(8, team="a")), world.submit(ask(18, team="a")), world.submit(ask(18, team="b"))
    assert world.order() == [first, other, beyond]
    world.now = BORROWING // 4 * HOUR + 1
    late = world.submit(ask(12, team="b"))
    assert world.order() == [first, other, beyond, late]


def test_what_is_placed_earlier_in_the_pass_counts_towards_the_quota() -> None:
    """Team a may have two of the four nodes that its jobs want before team b's turn comes."""
    world = World(racks(1), Policy(quotas=(Quota(team="a", gpus=8), Quota(team="b", gpus=64))))
    names = [world.submit(ask(2, team=team)) for team in ("a", "a", "b")]
    placed = [event.job for event in world.run_pass() if isinstance(event, JobPlaced)]
    assert placed == [names[0], names[2], names[1]]


def test_a_team_that_has_used_more_lately_goes_behind_one_that_has_not() -> None:
    world = World(racks(1), Policy(fair_share_half_life_h=24))
    heavy = world.run(ask(18, team="heavy"))
    world.now = HOUR
    again, fresh = world.submit(ask(4, team="heavy")), world.submit(ask(4, team="light"))
    assert world.order() == [fresh, again]
    world.now += SHARE // 4 * HOUR - MINUTE
    before = world.submit(ask(2, team="light"))
    world.now += 2 * MINUTE
    after = world.submit(ask(2, team="light"))
    assert world.order() == [fresh, before, again, after]
    assert heavy.state == "running"


def test_without_a_half_life_past_use_does_not_count() -> None:
    world = full()
    world.now = HOUR
    again, fresh = world.submit(ask(4, team="heavy")), world.submit(ask(4, team="light"))
    assert world.order() == [again, fresh]


REQUESTS: list[dict[str, Any]] = [
    {},
    {"team": "a"},
    {"team": "b", "priority": 7},
    {"priority_class": "batch", "team": "a"},
    {"priority_class": "production", "team": "b"},
    {"priority_class": "production", "priority": -90},
    {"team": "c", "restartable": False},
]
POLICIES = [
    Policy(),
    Policy(queue_order=QueueOrder.SIZE),
    Policy(fair_share_half_life_h=3, quotas=(Quota(team="a", gpus=20), Quota(team="b", gpus=60), Quota(team="*", gpus=40, borrow=16))),
    Policy(classes=ageing(("standard", 0, 1), ("production", 50, 0), ("batch", -9, 30))),
]
submissions = st.lists(st.tuples(st.sampled_from(REQUESTS), st.integers(1, 5), st.integers(0, 30 * HOUR)), min_size=1, max_size=12)


@settings(max_examples=60)
@given(st.sampled_from(POLICIES), submissions, st.integers(0, 99 * HOUR))
def test_the_order_holds_each_job_once_and_follows_from_the_state_alone(
    policy: Policy, asked: list[tuple[dict[str, Any], int, int]], later: int
) -> None:
    world = World(racks(1), policy, checked=False)
    world.run(ask(18, team="a"))
    for fields, nodes, wait in asked:
        world.now += wait
        world.submit(ask(nodes, **fields))
    world.now += later
    order = world.order()
    assert sorted(order) == sorted(world.state.queue)
    assert in_order(Trial(load_state(dump_state(world.state)), world.now)) == order
    assert in_order(Trial(world.state, world.now), 3) == order[:3]
    alike: dict[tuple[object, ...], list[str]] = {}
    for name in order:
        job = world.job(name)
        like = (job.request.priority_class, job.priority, job.request.team, job.request.nodes)
        alike.setdefault(like, []).append(name)
    assert all(names == sorted(names) for names in alike.values())  # first in, first out


@pytest.mark.parametrize("fields", REQUESTS)
def test_nothing_starves_while_its_class_ages(fields: dict[str, Any]) -> None:
    """Jobs of the highest class keep coming, one each hour, and each runs for an hour on all there is."""
    policy = Policy(fair_share_half_life_h=6, quotas=(Quota(team="*", gpus=72, borrow=72),))
    world = World(racks(1), policy, checked=False)
    running = world.run(ask(18, team="stream", priority_class="production", restartable=False))
    waiting = world.submit(ask(18, **{**fields, "restartable": False}))
    for hour in range(1, 120):
        world.now = hour * HOUR
        world.submit(ask(18, team="stream", priority_class="production", priority=9, restartable=False))
        world.finish(running.id)
        world.settle()
        (running,) = (job for job in world.state.jobs.values() if job.slices)
        if running.id == waiting:
            return
    raise AssertionError(f"{fields} never came to its turn")
