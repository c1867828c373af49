"""S14: a 128-node job waits while small jobs stream in for hours. It starts no later than it was promised first."""

from __future__ import annotations

import random

import pytest

from clusters.domain.ids import HOUR, MINUTE, SECOND, Duration, Instant
from clusters.domain.job_events import JobPreempted
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.setting import Backfill
from clusters.domain.space_events import SpaceReserved
from tests.support.hours import Hours
from tests.support.world import ask, racks


def fill(hours: Hours, chance: random.Random) -> None:
    """Ten racks full of slices with limits of one to six hours, which they nearly need."""
    for _ in range(10):
        limit = chance.randint(6, 36) * 10 * MINUTE
        hours.submit(ask(16, time_limit_s=limit // SECOND), limit - MINUTE)


def small_job(chance: random.Random, *, limits: bool) -> tuple[JobRequest, Duration]:
    """A job of one or two nodes; without limits it runs for up to twice as long as its user expects."""
    expected = chance.randint(1, 18) * 10 * MINUTE
    nodes = chance.choice((1, 2))
    if limits:
        return ask(nodes, time_limit_s=expected // SECOND, restartable=False), round(expected * chance.uniform(0.3, 1.5))
    return ask(nodes, expected_run_s=expected // SECOND, restartable=chance.random() < 0.8), round(expected * chance.uniform(0.3, 2))


def told(hours: Hours, kind: type[SpaceReserved] | type[JobPreempted]) -> list[Instant]:
    return [event.occurred_at for event in hours.world.log.events if isinstance(event.payload, kind)]


@pytest.mark.parametrize("mode", [Backfill.EASY, Backfill.CONSERVATIVE])
@pytest.mark.parametrize("limits", [True, False], ids=["limits", "estimates"])
def test_s14_a_large_job_starts_no_later_than_it_was_promised_although_small_ones_stream_in(mode: Backfill, limits: bool) -> None:
    chance = random.Random(14)
    hours = Hours(racks(10), Policy(backfill=mode, target_spares=0))
    fill(hours, chance)
    large = hours.submit(ask(128, time_limit_s=3600), HOUR)
    promised = hours.first[large]
    assert HOUR < promised < 7 * HOUR
    meanwhile = 0
    for minute in range(0, 8 * 60, 4):
        hours.go(minute * MINUTE)
        request, run = small_job(chance, limits=limits)
        name = hours.submit(request, run)
        meanwhile += name in hours.started and large not in hours.started
    hours.go(24 * HOUR)
    assert hours.started[large] <= promised
    assert meanwhile >= 20, "small jobs do start before it"
    first = {name: start - hours.first[name] for name, start in hours.started.items() if name in hours.first}
    if limits:
        assert max(first.values()) <= 0
        assert told(hours, JobPreempted) == []
    hours.world.log.sound()


def test_s14_what_was_backfilled_and_stays_is_sent_away_and_runs_again() -> None:
    hours = Hours(racks(8), Policy(target_spares=0))
    for _ in range(8):
        hours.submit(ask(16, time_limit_s=3600), HOUR - MINUTE)
    large = hours.submit(ask(128, time_limit_s=3600), HOUR)
    small = [hours.submit(ask(2, expected_run_s=1200), 3 * HOUR) for _ in range(8)]
    assert all(hours.started[name] == 0 for name in small), "beside the slices, on nodes that the large job does not need"
    hours.go(HOUR + MINUTE)
    assert hours.started[large] <= hours.first[large]
    sent = told(hours, JobPreempted)
    assert len(sent) == sum(hours.world.job(name).preemptions for name in small)
    hours.go(12 * HOUR)
    assert not hours.world.state.queue


def test_s14_without_reservations_the_large_job_would_starve() -> None:
    """The control: the same stream under `off` keeps it waiting for longer than it was promised above."""
    starts = {}
    for mode in (Backfill.OFF, Backfill.EASY):
        chance = random.Random(14)
        hours = Hours(racks(10), Policy(backfill=mode, target_spares=0))
        fill(hours, chance)
        large = hours.submit(ask(128, time_limit_s=3600), HOUR)
        for minute in range(0, 12 * 60, 4):
            hours.go(minute * MINUTE)
            hours.submit(ask(chance.choice((4, 8, 12)), time_limit_s=3 * 3600), 3 * HOUR)
        hours.go(48 * HOUR)
        starts[mode] = hours.started[large]
    assert starts[Backfill.EASY] < starts[Backfill.OFF]
