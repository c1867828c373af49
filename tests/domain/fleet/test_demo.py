"""The demo's users keep a large cluster as full as its spares allow."""

from __future__ import annotations

from collections import Counter

import pytest

from clusters.connectors.base import Work
from clusters.connectors.simulated.options import FleetOptions
from clusters.domain.books import Use
from clusters.domain.books_of import read_books
from clusters.domain.ids import DAY, HOUR, MINUTE
from clusters.domain.invariants import check
from scheduling.simulator.demo import FIRST, LARGE_NODES, MIX, WAITING, DemoUsers
from tests.domain.fleet.stage import NAME, START, Stage, ask

DEMO = FleetOptions(seed=7, failures_per_node_day=1 / 490, repair_model=1, repair_mean_h=240, generator=1)


def busy(stage: Stage) -> float:
    with stage.log.live(NAME).reading() as state:
        books = read_books(state)
        return (books.use[Use.ALLOCATED] + books.use[Use.SHARED]) / books.nodes


@pytest.mark.slow
def test_the_cluster_fills_within_the_hour_and_stays_about_85_percent_full() -> None:
    stage = Stage(128, DEMO, generator=DemoUsers(DEMO, START))
    stage.play(START + HOUR)
    assert busy(stage) > 0.82
    samples = []
    for half_day in range(1, 5):
        stage.play(START + half_day * DAY // 2)
        samples.append(busy(stage))
    assert 0.82 < sum(samples) / len(samples) < 0.89
    with stage.log.live(NAME).reading() as state:
        assert len(state.queue) <= WAITING
        assert check(state) == []
        assert Counter(state.tally)["swaps"] > 0


def test_shares_of_the_mix_add_up() -> None:
    assert sum(sort.share for sort in MIX) == pytest.approx(1)
    for sort in MIX:
        assert sum(share for share, _, _ in sort.sizes) == pytest.approx(1)
        assert all((nodes > 0) != (gpus > 0) for _, nodes, gpus in sort.sizes)
        assert sum(sort.outcomes) <= 1


def test_what_was_asked_and_what_becomes_of_it_depends_on_the_number_alone() -> None:
    one, other = DemoUsers(DEMO, START), DemoUsers(DEMO, START)
    for number in range(200):
        request = one.request(number, ())
        assert request == other.request(number, ())
        assert one.truth(number, request, START + DAY) == other.truth(number, request, START + DAY)
        assert one.truth(number, request, START + DAY).duration >= MINUTE


def test_jobs_of_the_first_hour_have_part_of_their_time_behind_them() -> None:
    users = DemoUsers(DEMO, START)
    requests = [users.request(number, ()) for number in range(500)]
    early = sum(users.truth(number, request, START).duration for number, request in enumerate(requests))
    late = sum(users.truth(number, request, START + FIRST).duration for number, request in enumerate(requests))
    assert 0.3 < early / late < 0.7


def test_no_more_large_jobs_come_while_many_wait_or_a_huge_one_has_waited_for_long() -> None:
    users = DemoUsers(DEMO, START)
    many = [Work(job=f"j{n}", request=ask(16), arrival=f"demo:{n + 900}") for n in range(12)]
    huge = [Work(job="j1", request=ask(128), arrival="demo:5")]
    assert any((users.request(number, ()).nodes or 0) >= LARGE_NODES for number in range(1000, 1100))
    for waiting in (many, huge):
        assert all((users.request(number, waiting).nodes or 0) < LARGE_NODES for number in range(1000, 1100))
