"""Whatever is asked for: no promise is put off while limits hold, and passes settle."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusters.domain.commands import NodeVerb, RunPass
from clusters.domain.events import Payload
from clusters.domain.ids import HOUR, MINUTE, SECOND, Duration
from clusters.domain.jobs import JobState
from clusters.domain.policy import Policy
from clusters.domain.setting import Backfill
from clusters.domain.space_events import SpaceReserved
from tests.support.hours import Hours
from tests.support.world import World, ask, racks

jobs = st.tuples(st.sampled_from([1, 2, 4, 8, 16, 18, 24, 32]), st.integers(1, 40), st.floats(0.1, 1.0), st.integers(0, 30))


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(jobs, min_size=4, max_size=25),
    st.sampled_from([Backfill.EASY, Backfill.CONSERVATIVE]),
)
def test_no_job_starts_later_than_it_was_promised_first(asked: list[tuple[int, int, float, int]], mode: Backfill) -> None:
    """While nothing fails, limits hold, and nobody has more points."""
    hours = Hours(racks(2), Policy(backfill=mode, target_spares=0))
    at = 0
    for nodes, tens, part, pause in asked:
        hours.go(at := at + pause * MINUTE)
        limit: Duration = tens * 10 * MINUTE
        hours.submit(ask(nodes, time_limit_s=limit // SECOND, restartable=False), round(limit * part))
    hours.go(at + 400 * HOUR)
    late = {name: start - hours.first[name] for name, start in hours.started.items() if name in hours.first}
    assert all(delay <= 0 for delay in late.values()), late
    assert not hours.world.state.queue
    hours.world.log.sound()


class Watched(Hours):
    """Hours in which each pass is looked at by itself."""

    def settle(self) -> None:
        while True:
            waiting = len(self.world.state.queue)
            decided: list[tuple[Payload, ...]] = []
            while (outcome := self.world.do(RunPass())).events:  # type: ignore[union-attr]
                decided.append(outcome.events)  # type: ignore[union-attr]
            assert len(decided) <= 2, decided
            assert sum(isinstance(event, SpaceReserved) for events in decided for event in events) <= waiting
            if not decided and not self.world.connect():
                return super().settle()


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(jobs, min_size=4, max_size=20), st.sampled_from([1, 2, 3]), st.sampled_from([Backfill.EASY, Backfill.CONSERVATIVE]))
def test_a_promise_is_never_put_off_while_limits_hold_and_two_passes_settle(
    asked: list[tuple[int, int, float, int]], count: int, mode: Backfill
) -> None:
    hours = Watched(racks(count), Policy(backfill=mode, target_spares=0))
    at = 0
    for nodes, tens, part, pause in asked:
        hours.go(at := at + pause * MINUTE)
        limit: Duration = tens * 10 * MINUTE
        hours.submit(ask(min(nodes, count * 16), time_limit_s=limit // SECOND, restartable=False), round(limit * part))
    hours.go(at + 400 * HOUR)
    promised: dict[str, int] = {}
    for event in hours.world.log.events:
        if isinstance(event.payload, SpaceReserved):
            told = event.payload
            assert told.starts_at <= promised.get(told.job, told.starts_at)
            promised[told.job] = told.starts_at
    assert all(hours.started[name] <= promise for name, promise in hours.first.items())


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(jobs, min_size=4, max_size=15), st.integers(0, 2**32))
def test_a_pass_settles_whatever_fails(asked: list[tuple[int, int, float, int]], seed: int) -> None:
    """After a pass another one at the same time finds nothing to do, and the space it decided on is the space folded."""
    chance = random.Random(seed)
    world = World(racks(2), Policy(backfill=Backfill.CONSERVATIVE), checked=False)
    for nodes, tens, _, pause in asked:
        world.now += pause * MINUTE
        fields = chance.choice([{}, {"time_limit_s": tens * 600}, {"expected_run_s": tens * 600}])
        world.submit(ask(nodes, priority=chance.choice([0, 0, 5]), **fields))
        if chance.random() < 0.3:
            world.mark(f"r{chance.randint(1, 2)}-n{chance.randint(1, 18)}", chance.choice([NodeVerb.FAIL, NodeVerb.REPAIR]))
        if chance.random() < 0.3 and (running := [job.id for job in world.state.jobs.values() if job.state is JobState.RUNNING]):
            world.finish(chance.choice(running))
        reserved = sum(isinstance(event, SpaceReserved) for event in world.settle())
        assert reserved <= 4 * len(world.state.jobs)
        assert world.do(RunPass()).events == ()  # type: ignore[union-attr]
        world.log.sound()
