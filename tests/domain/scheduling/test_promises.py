"""A promised start holds, whatever comes to the domain meanwhile and owes spares there; equal jobs start in order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clusters.domain.ids import HOUR, MINUTE, SECOND, Duration
from clusters.domain.jobs import JobRequest, JobState
from clusters.domain.policy import Policy
from clusters.domain.setting import Backfill, SparesScope
from clusters.domain.space_events import SpaceFreed, SpaceReserved
from scheduling.domain.equals import equals_before
from scheduling.domain.limits import LAUNCH, STOP
from scheduling.domain.trial import Trial
from tests.support.hours import Hours
from tests.support.world import World, ask, racks


def limited(nodes: int, hours: float, **fields: object) -> JobRequest:
    return ask(nodes, time_limit_s=round(hours * 3600), restartable=False, **fields)


def test_nodes_promised_to_work_below_a_slice_are_no_spares_of_what_came_beside_them_later() -> None:
    hours = Hours(racks(1), Policy(backfill=Backfill.EASY), checked=True)
    hours.submit(limited(14, 2), 2 * HOUR)
    first = hours.submit(limited(14, 5), 5 * HOUR)
    hours.submit(limited(2, 10, spares=4), 10 * HOUR)
    assert hours.first[first] == 2 * HOUR + STOP
    hours.go(3 * HOUR)
    assert hours.started[first] <= hours.first[first]


def test_before_its_time_such_work_leaves_the_spares_that_others_have() -> None:
    hours = Hours(racks(1), Policy(backfill=Backfill.EASY))
    hours.submit(limited(12, 2), 2 * HOUR)
    hours.submit(limited(2, 1), HOUR // 2)
    first = hours.submit(limited(6, 5), 5 * HOUR)
    assert hours.first[first] == 2 * HOUR + STOP
    hours.go(HOUR)
    assert first not in hours.started, "six nodes are free, two of them spares of the work on twelve"
    hours.go(3 * HOUR)
    assert hours.started[first] == 2 * HOUR


def test_spares_that_a_promised_job_is_going_to_want_are_promised_to_nobody_below_a_slice() -> None:
    world = World(racks(1), Policy(backfill=Backfill.CONSERVATIVE))
    world.run(limited(16, 1))
    first, second = world.submit(limited(8, 5)), world.submit(limited(10, 1))
    world.run_pass()
    starts = [world.state.reservations[name].starts_at for name in (first, second)]
    assert starts == [HOUR + STOP, HOUR + STOP + LAUNCH + 5 * HOUR + STOP]


# ---- the rule, over random queues

sizes = st.sampled_from([1, 1, 2, 3, 4, 6, 8, 12, 16, 17, 18, 24, 32])
#: Nodes (negative: GPUs of one), the limit in tens of minutes, the part of it that the work runs, minutes until it is submitted.
jobs = st.tuples(sizes | st.sampled_from([-1, -3]), st.integers(1, 40), st.floats(0.1, 1.0), st.integers(0, 30))


#: One GPU of the last node but one is promised for when a node is, and the domain wants both as spares.
TOGETHER = [(1, 1, 1.0, 0)] * 3 + [
    (3, 8, 1.0, 0),
    (16, 1, 1.0, 22),
    (1, 1, 1.0, 30),
    (1, 1, 1.0, 9),
    (1, 1, 1.0, 9),
    (-1, 1, 1.0, 0),
    (16, 1, 1.0, 0),
]


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@example(TOGETHER, 1, Backfill.EASY, SparesScope.ALL)
@given(
    st.lists(jobs, min_size=4, max_size=20),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([Backfill.EASY, Backfill.CONSERVATIVE]),
    st.sampled_from(SparesScope),
)
def test_no_later_job_puts_off_the_start_that_an_earlier_one_was_promised(
    asked: list[tuple[int, int, float, int]], count: int, mode: Backfill, scope: SparesScope
) -> None:
    """While nothing fails, limits hold, and nobody has more points."""
    hours = Hours(racks(count), Policy(backfill=mode, target_spares=2, spares_scope=scope))
    at = 0
    for nodes, tens, part, pause in asked:
        hours.go(at := at + pause * MINUTE)
        limit: Duration = tens * 10 * MINUTE
        fields = {"time_limit_s": limit // SECOND, "restartable": False}
        request = ask(gpus=-nodes, **fields) if nodes < 0 else ask(min(nodes, count * 16), **fields)
        hours.submit(request, round(limit * part))
    hours.go(at + 400 * HOUR)
    promised: dict[str, int] = {}
    for event in hours.world.log.events:
        assert not isinstance(event.payload, SpaceFreed), event
        if isinstance(event.payload, SpaceReserved):
            told = event.payload
            assert told.starts_at <= promised.get(told.job, told.starts_at)
            promised[told.job] = told.starts_at
    assert all(hours.started[name] <= promise for name, promise in promised.items())
    assert not hours.world.state.queue
    hours.world.log.sound()


# ---- equal jobs


def test_what_comes_free_early_is_for_the_first_of_equal_jobs_and_the_next_gets_its_promise() -> None:
    hours = Hours(racks(2), Policy(backfill=Backfill.EASY, target_spares=0), checked=True)
    hours.submit(limited(16, 1), HOUR)
    hours.submit(limited(16, 5), 10 * MINUTE)
    first, second = (hours.submit(limited(16, 2, team=team), 2 * HOUR) for team in ("a", "b"))
    promise = hours.world.state.reservations[first]
    assert promise.starts_at == HOUR + STOP < hours.first[second]
    hours.go(10 * MINUTE)
    assert hours.started == {**hours.started, first: 10 * MINUTE}
    assert second not in hours.started
    kept = hours.world.state.reservations[second]
    assert (kept.nodes, kept.starts_at, kept.reason) == (promise.nodes, promise.starts_at, promise.reason)
    assert hours.world.run_pass() == [], "all is told"


def test_a_sooner_promise_is_for_the_first_of_equal_jobs() -> None:
    world = World(racks(2), Policy(backfill=Backfill.EASY, target_spares=0))
    long, other = world.run(limited(16, 5)), world.run(limited(16, 5))
    first = world.submit(limited(16, 1))
    world.run_pass()
    assert {name.split("-")[0] for name in world.state.reservations[first].nodes} == {"r1"}
    world.now = 5 * HOUR - MINUTE
    second = world.submit(limited(16, 1))
    world.finish(other.id)
    world.run_pass()
    assert world.job(first).state is JobState.PLACED
    assert world.job(second).state is JobState.WAITING
    assert world.state.reservations[second].starts_at == 5 * HOUR + STOP
    assert long.state is JobState.RUNNING


@pytest.mark.parametrize("fields", [{"priority": -1}, {"priority_class": "batch"}, {"time_limit_s": 3600}, {"nodes": 15}])
def test_jobs_that_differ_in_what_counts_keep_each_their_own_promise(fields: dict[str, Any]) -> None:
    hours = Hours(racks(2), Policy(backfill=Backfill.EASY, target_spares=0))
    hours.submit(limited(16, 1), HOUR)
    hours.submit(limited(16, 5), 10 * MINUTE)
    first = hours.submit(limited(16, 2), 2 * HOUR)
    second = hours.submit(replace(limited(16, 2), **fields), 2 * HOUR)
    equals = equals_before(passed(hours.world, first, second), hours.world.job(second), 0, 1 << 60)
    assert equals == []


def passed(world: World, *names: str) -> Trial:
    """A trial in which these jobs have had their turns."""
    trial = Trial(world.state, world.now)
    for name in names:
        trial.pass_by(name)
    return trial


kinds = st.lists(
    st.tuples(sizes.filter(lambda nodes: nodes > 0), st.integers(1, 40), st.sampled_from(["time_limit_s", "expected_run_s"])),
    min_size=1,
    max_size=3,
)
#: Which kind, the part of its time that it runs (all and more where that is an expectation), minutes until it is submitted, its team.
some = st.tuples(st.integers(0, 2), st.floats(0.05, 2), st.sampled_from([0, 0, 5, 10, 30]), st.sampled_from(["a", "b"]))


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(
    kinds,
    st.lists(some, min_size=6, max_size=25),
    st.integers(1, 3),
    st.sampled_from([Backfill.EASY, Backfill.CONSERVATIVE]),
    st.sampled_from([0, 2]),
)
def test_equal_jobs_start_in_the_order_in_which_they_came_however_wrong_the_estimates_are(
    ways: list[tuple[int, int, str]], asked: list[tuple[int, float, int, str]], count: int, mode: Backfill, spares: int
) -> None:
    """While nothing fails, nobody has to make room, and past use does not count."""
    hours = Hours(racks(count), Policy(backfill=mode, target_spares=spares))
    at, came = 0, dict[tuple[int, int, str], list[str]]()
    for number, part, pause, team in asked:
        hours.go(at := at + pause * MINUTE)
        nodes, tens, field = way = ways[number % len(ways)]
        length: Duration = tens * 10 * MINUTE
        request = ask(min(nodes, count * 16), restartable=False, team=team, **{field: length // SECOND})
        came.setdefault(way, []).append(hours.submit(request, round(length * (min(part, 1.0) if field == "time_limit_s" else part))))
    hours.go(at + 2_000 * HOUR)
    for names in came.values():
        starts = [hours.started[name] for name in names]
        assert starts == sorted(starts)
