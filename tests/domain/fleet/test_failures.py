"""The failure model against the figures it is made from. Seeds are fixed: these tests pass always or never."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.connectors.simulated.chance import exponential, lognormal, uniform
from clusters.connectors.simulated.failures import FaultProcess, repair_time
from clusters.connectors.simulated.options import REPAIR_FLAT, FleetOptions
from clusters.domain.ids import DAY, HOUR

NODES = tuple(f"r{rack:03d}-n{node:02d}" for rack in range(128) for node in range(18))


def faults(options: FleetOptions, days: float, nodes: Sequence[str] = NODES) -> list[tuple[int, str]]:
    process = FaultProcess(options, nodes, base=0)
    found = []
    while process.at is not None and process.at < days * DAY:
        found.append((process.at, process.node))
        process.advance()
    return found


@pytest.fixture(scope="module")
def year() -> list[tuple[int, str]]:
    return faults(FleetOptions(seed=11), 5_000)


def test_the_rate_is_the_one_asked_for(year: list[tuple[int, str]]) -> None:
    rate = len(year) / (len(NODES) * 5_000)
    assert rate == pytest.approx(2.0e-3, rel=0.05)


def test_the_rate_holds_from_the_first_days_on() -> None:
    options = [FleetOptions(seed=seed, failures_per_node_day=0.05) for seed in range(1000)]
    early = statistics.mean(len(faults(each, 2, NODES[:50])) for each in options)
    assert early == pytest.approx(2 * 50 * 0.05, rel=0.05)


def test_failures_come_in_bursts_as_measured(year: list[tuple[int, str]]) -> None:
    gaps = [later - earlier for (earlier, _), (later, _) in itertools.pairwise(year)]
    assert 1.5 <= statistics.stdev(gaps) / statistics.mean(gaps) <= 2.0


def test_a_few_nodes_cause_a_fifth_of_the_failures(year: list[tuple[int, str]]) -> None:
    counts = Counter(node for _, node in year)
    lemons = FaultProcess(FleetOptions(seed=11), NODES, base=0).lemons
    assert len(lemons) == round(0.012 * len(NODES))
    assert sum(counts[node] for node in lemons) / len(year) == pytest.approx(0.20, abs=0.01)
    assert {node for node, _ in counts.most_common(len(lemons))} == set(lemons)
    assert len(counts) == len(NODES)  # the others fail too, now and then


def test_published_repairs_take_21_hours_on_average_and_half_of_them_three() -> None:
    hours = [repair_time(FleetOptions(), node, failure) / HOUR for node in NODES for failure in range(5)]
    assert statistics.mean(hours) == pytest.approx(21.1, rel=0.05)
    assert statistics.median(hours) == pytest.approx(3.0, rel=0.1)
    assert statistics.quantiles(hours, n=100)[94] > 90  # an exchange takes days


def test_flat_repairs_have_the_mean_asked_for() -> None:
    options = FleetOptions(repair_model=REPAIR_FLAT, repair_mean_h=240)
    hours = [repair_time(options, node, 1) / HOUR for node in NODES]
    assert statistics.mean(hours) == pytest.approx(240, rel=0.05)


def test_no_rate_no_failure() -> None:
    process = FaultProcess(FleetOptions(failures_per_node_day=0), NODES, base=0)
    process.advance()
    assert process.at is None


def test_a_fleet_without_lemons_and_one_of_lemons_only_have_failures_too() -> None:
    few = ("a", "b", "c")
    for options in (FleetOptions(lemon_nodes=0), FleetOptions(lemon_share=0), FleetOptions(lemon_nodes=0.5, lemon_share=1)):
        process = FaultProcess(options, few, base=0)
        seen = set()
        for _ in range(200):
            seen.add(process.node)
            process.advance()
        assert seen == set(process.lemons or few) or options.lemon_share == 0
        assert seen <= set(few)


@given(st.integers(0, 200 * DAY), st.integers(0, 1000))
def test_skipping_comes_to_the_same_failure_as_living_through_them(instant: int, seed: int) -> None:
    lived, skipped = (FaultProcess(FleetOptions(seed=seed), NODES[:50], base=7) for _ in range(2))
    skipped.skip_to(instant)
    while lived.at is not None and lived.at <= instant:
        lived.advance()
    assert (lived.at, lived.node) == (skipped.at, skipped.node)
    assert skipped.at is not None
    assert skipped.at > instant


def test_the_order_in_which_nodes_are_listed_makes_no_difference() -> None:
    one, other = FaultProcess(FleetOptions(), NODES, base=0), FaultProcess(FleetOptions(), reversed(NODES), base=0)
    assert [one.lemons, one.node, one.at] == [other.lemons, other.node, other.at]


def test_the_same_key_draws_the_same_number_on_every_machine() -> None:
    assert uniform(1, "gap", 7) == 0.20243289040104
    assert uniform(1, "gap", 7) != uniform(2, "gap", 7)
    assert uniform(1, "a", "b") != uniform(1, "ab")


def test_draws_are_spread_evenly_and_quantiles_meet_their_means() -> None:
    draws = [uniform(5, "even", n) for n in range(20_000)]
    assert statistics.mean(draws) == pytest.approx(0.5, abs=0.01)
    assert statistics.pstdev(draws) == pytest.approx(12**-0.5, abs=0.01)
    assert statistics.mean(exponential(u, 3.0) for u in draws) == pytest.approx(3.0, rel=0.03)
    assert statistics.median(lognormal(u, 60, 1.28) for u in draws) == pytest.approx(60, rel=0.03)
