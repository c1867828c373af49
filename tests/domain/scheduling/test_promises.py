"""A promised start holds, whatever comes to the domain meanwhile and owes spares there."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusters.domain.ids import HOUR, MINUTE, SECOND, Duration
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.setting import Backfill, SparesScope
from clusters.domain.space_events import SpaceFreed, SpaceReserved
from scheduling.domain.limits import LAUNCH, STOP
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


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
