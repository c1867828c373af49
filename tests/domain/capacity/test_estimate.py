"""Reading p, rho and interruptions off histories whose truth is known, and saying so when there is too little."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.ids import DAY
from scheduling.domain.capacity.estimate import estimate, estimate_interruptions, estimate_usable
from scheduling.domain.capacity.history import History, Observed
from scheduling.domain.capacity.intervals import Measured, effective_number
from scheduling.domain.capacity.model import Fleet, expected, usable, usable_now
from tests.domain.capacity.fleets import PROPERTY
from tests.domain.capacity.outage_histories import Change, World, changes, history_of

#: Independent nodes; the same with outages of whole racks besides.
WORLDS = [World(), World(rack_days=900)]


def watched(*domains: Iterable[tuple[int, int, int]]) -> Observed:
    """Domains r0, r1, ...: (days, nodes, unavailable) one after the other."""
    history = History()
    rows: list[tuple[int, str, int, int]] = []
    until = 0
    for number, spells in enumerate(domains):
        day = 0
        for days, nodes, away in spells:
            rows.append((day, f"r{number}", nodes, away))
            day += days
        until = max(until, day)
    for day, name, nodes, away in sorted(rows):
        history.observe(day * DAY, name, nodes, away)
    return history.observed(until * DAY)


def holds(measured: Measured, truth: float) -> bool:
    assert measured.low is not None
    assert measured.high is not None
    return measured.low <= truth <= measured.high


# ---- by hand


def test_unavailability_is_the_share_of_node_time_not_placeable() -> None:
    found = estimate(watched([(8, 10, 0), (2, 10, 3)], [(10, 5, 1)]))
    assert found.unavailability.value == pytest.approx((2 * 3 + 10 * 1) / (10 * 10 + 10 * 5))
    assert found.node_days == pytest.approx(150)
    assert (found.span_days, found.domains) == (10, 2)


def test_the_correlation_is_that_of_two_nodes_of_a_domain() -> None:
    found = estimate(watched([(9, 2, 0), (1, 2, 2)], [(10, 2, 1)]))
    p, both = (2 + 10) / 40, 1 / 20
    assert found.rho.value == pytest.approx((both - p * p) / (p * (1 - p)))


def test_nodes_that_only_ever_go_together_are_fully_correlated() -> None:
    found = estimate(watched(*[[(9, 18, 0), (1, 18, 18)]] * 8))
    assert found.rho.value == pytest.approx(1)
    assert found.whole_rack_share == 1
    assert found.whole_outages == 8
    assert found.rest_rho == 0
    assert found.outages is not None
    assert expected(Fleet.uniform(1, 18), (18,), found.outages) == pytest.approx(18 * 0.9)


def test_whole_rack_time_is_told_apart_from_the_rest() -> None:
    found = estimate(watched([(90, 4, 0), (8, 4, 1), (2, 4, 4)], [(100, 4, 0)]))
    assert found.unavailability.value == pytest.approx((8 + 8) / 800)
    assert found.whole_rack_share == pytest.approx(0.5)
    assert found.rest_rho == 0


@PROPERTY
@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 18)), min_size=1, max_size=6))
def test_the_parameters_give_back_the_unavailability_that_was_seen(spells: list[tuple[int, int]]) -> None:
    found = estimate(watched([(days, 18, away) for days, away in spells]))
    assert found.outages is not None
    seen = sum(days * away for days, away in spells) / sum(days * 18 for days, _ in spells)
    assert found.outages.unavailability == pytest.approx(seen)
    assert expected(Fleet.uniform(1, 18), (1,), found.outages) == pytest.approx(18 * (1 - seen))


def test_usable_nodes_are_measured_without_a_model() -> None:
    seen = watched([(5, 18, 0), (3, 18, 2), (2, 18, 3)], [(10, 18, 1)])
    assert estimate_usable(seen, (16,)).value == pytest.approx((8 * 16 + 10 * 16) / 360)
    assert estimate_usable(seen, (18,)).value == pytest.approx(5 * 18 / 360)
    assert estimate_usable(seen, (18, 16)).value == pytest.approx((5 * 18 + 3 * 16 + 10 * 16) / 360)


# ---- too little


def test_an_empty_log_says_nothing() -> None:
    found = estimate(watched())
    assert found.unavailability == Measured(value=None, reason="nothing was observed yet")
    assert found.outages is None
    assert found.ends == ()
    assert found.rho.value is None
    assert estimate_usable(watched(), (16,)).value is None
    assert estimate_interruptions(watched(), Fleet.uniform(1, 18)).node_days.value is None


def test_when_nothing_failed_the_value_is_zero_without_an_interval() -> None:
    found = estimate(watched(*[[(30, 18, 0)]] * 20))
    assert found.unavailability == Measured(value=0.0, reason="no node was unavailable in the time observed")
    assert found.rho.value is None
    assert found.rest_rho == 0


def test_when_nothing_ever_ran_neither() -> None:
    found = estimate(watched(*[[(30, 18, 18)]] * 20))
    assert found.unavailability == Measured(value=1.0, reason="no node was available in the time observed")


def test_a_few_domains_give_a_value_but_no_interval() -> None:
    found = estimate(watched(*[[(9, 18, 0), (1, 18, 2)]] * 4, *[[(10, 18, 0)]] * 100))
    assert found.unavailability.value == pytest.approx(4 * 2 / (104 * 180))
    assert (found.unavailability.low, found.unavailability.high) == (None, None)
    assert found.unavailability.reason == "unavailability was seen in 4.0 domains in effect; an interval needs 5"
    assert "two nodes of a domain unavailable at once was seen in 4.0 domains" in found.rho.reason
    assert found.ends == ()


def test_one_domain_that_outweighs_all_others_gives_no_interval() -> None:
    found = estimate(watched([(100, 18, 9)], *[[(99, 18, 0), (1, 18, 1)]] * 50))
    assert found.unavailability.low is None
    assert found.unavailability.value is not None


def test_lone_nodes_have_no_correlation() -> None:
    found = estimate(watched(*[[(9, 1, 0), (1, 1, 1)]] * 30))
    assert found.rho == Measured(value=None, reason="no domain with two nodes or more was observed")
    assert found.unavailability.low is not None
    assert found.whole_rack_share == 0


def test_without_a_whole_rack_outage_the_log_says_how_rare_they_may_be() -> None:
    found = estimate(watched(*[[(30, 18, 0)]] * 128))
    assert found.unseen_rack_days == pytest.approx(128 * 30 / 3.689, rel=1e-3)
    assert estimate(watched([(1, 2, 0), (1, 2, 2)])).unseen_rack_days is None


def test_a_short_log_is_warned_about() -> None:
    history = History()
    history.observe(0, "r1", 18, 0)
    history.observe(5 * DAY, "r1", 18, 1)
    history.interrupted(5 * DAY, "r1")
    assert estimate(history.observed(14 * DAY)).days_per_failure == pytest.approx(9)
    (caution,) = estimate(history.observed(14 * DAY)).cautions
    assert caution.startswith("the log spans 14.0 days, less than 3 times the 9.0 node-days that a failure costs")
    history.observe(14 * DAY, "r1", 18, 0)
    assert estimate(history.observed(100 * DAY)).cautions == ()


def test_effective_number_counts_equal_weights_fully_and_lopsided_ones_little() -> None:
    assert effective_number([2, 2, 2, 2]) == pytest.approx(4)
    assert effective_number([100, 1, 1, 1]) < 1.1
    assert effective_number([]) == effective_number([0, 0]) == 0


# ---- against the truth


@pytest.mark.parametrize("world", WORLDS, ids=["independent", "with whole racks"])
def test_a_long_log_finds_the_truth(world: World) -> None:
    seen = history_of(world, changes(world, 2_000, Random(5)), 2_000).observed(2_000 * DAY)
    found = estimate(seen)
    assert found.unavailability.value == pytest.approx(world.unavailability, rel=0.08)
    assert found.rho.value == pytest.approx(world.rho, abs=0.03)
    assert found.rest_rho < 0.01
    fleet = Fleet.uniform(world.racks, world.nodes)
    assert found.outages is not None
    for size in (8, 9, 16, 18):
        usable_share = estimate_usable(seen, (size,)).value
        assert expected(fleet, (size,), found.outages) / fleet.nodes == pytest.approx(usable_share, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("world", "days"), [(WORLDS[0], 60), (WORLDS[1], 360)], ids=["independent", "with whole racks"])
def test_intervals_hold_the_truth_about_as_often_as_they_say(world: World, days: int) -> None:
    random = Random(11)
    whole_racks = expected(Fleet.uniform(1, world.nodes), (world.nodes,), world.outages) / world.nodes
    tries = 60
    hits = dict.fromkeys(("unavailability", "rho", "usable"), 0)
    for _ in range(tries):
        seen = history_of(world, changes(world, days, random), days).observed(days * DAY)
        found = estimate(seen)
        hits["unavailability"] += holds(found.unavailability, world.unavailability)
        hits["rho"] += holds(found.rho, world.rho)
        hits["usable"] += holds(estimate_usable(seen, (world.nodes,)), whole_racks)
    assert min(hits.values()) >= 0.88 * tries, hits


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS, ids=["independent", "with whole racks"])
def test_the_fitted_spread_holds_nine_of_ten_days_that_were_held_out(world: World) -> None:
    fitted, watched_days = 360, 720
    inside = total = 0
    fleet = Fleet.uniform(world.racks, world.nodes)
    for seed in range(4):
        found = changes(world, watched_days, Random(seed))
        outages = estimate(history_of(world, found, fitted).observed(fitted * DAY)).outages
        assert outages is not None
        for size in (8, 9, 16, 18):
            model = usable(fleet, (size,), outages)
            low, high = model.nodes_with(0.95), model.nodes_with(0.05)
            days = held_out(world, found, size, fitted, watched_days)
            inside += sum(low <= nodes <= high for nodes in days)
            total += len(days)
    assert inside / total >= 0.88


def held_out(world: World, found: list[Change], size: int, first: int, last: int) -> list[int]:
    """Usable nodes at the beginning of each day."""
    away = [0] * world.racks
    coming = iter(found)
    change = next(coming, None)
    days: list[int] = []
    for day in range(last):
        while change is not None and change.at <= day:
            away[change.rack] = change.away
            change = next(coming, None)
        if day >= first:
            days.append(usable_now([(world.nodes, world.nodes - gone) for gone in away], (size,)))
    return days


# ---- interruptions


def test_interruptions_are_failures_over_node_time_with_poisson_limits() -> None:
    history = History()
    for rack in range(10):
        history.observe(0, f"r{rack}", 18, 0)
    for number in range(10):
        history.interrupted(DAY, f"r{number}")
    found = estimate_interruptions(history.observed(100 * DAY), Fleet.uniform(10, 18))
    assert found.count == 10
    assert found.node_days.value == pytest.approx(1800)
    assert (found.node_days.low, found.node_days.high) == pytest.approx((18_000 / 18.390, 18_000 / 4.795), rel=1e-3)
    assert found.rack_days.value == pytest.approx(100)
    assert found.fleet_hours.value == pytest.approx(240)
    assert found.dispersion == 0
    assert found.cautions == ()


def test_without_a_failure_there_is_only_a_lower_limit() -> None:
    history = History()
    history.observe(0, "r1", 18, 0)
    found = estimate_interruptions(history.observed(100 * DAY), Fleet.uniform(1, 18))
    assert (found.count, found.node_days.value, found.node_days.high) == (0, None, None)
    assert found.node_days.low == pytest.approx(1800 / 3.689, rel=1e-3)
    assert found.node_days.reason.startswith("no node failed")
    assert found.dispersion is None


def test_failures_that_cluster_are_pointed_out() -> None:
    history = History()
    for rack in range(10):
        history.observe(0, f"r{rack}", 18, 0)
    for _ in range(20):
        history.interrupted(DAY, "r3")
    found = estimate_interruptions(history.observed(100 * DAY), Fleet.uniform(10, 18))
    assert found.dispersion == pytest.approx(20)
    assert found.cautions == ("failures cluster in some domains: their counts vary 20.0 times as much as Poisson limits allow for",)
