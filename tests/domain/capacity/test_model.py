"""The closed form: against enumeration, against its own limits, and against every figure that is quoted from it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clusters.domain.errors import InvalidRequest
from scheduling.domain.capacity.model import (
    Fleet,
    Outages,
    Sizes,
    after_failures,
    available,
    beta_binomial,
    domain_usable,
    expected,
    fill,
    usable,
    usable_now,
)
from tests.domain.capacity.fleets import FLEET, PROPERTY, RACK, TWO_PERCENT

shares = st.floats(0, 1)
outages = st.builds(Outages, unavailability=shares, rho=shares, whole_rack_share=shares)
sizes = st.lists(st.integers(1, 20), min_size=1, max_size=3).map(tuple)


# ---- against enumeration


def urn(nodes: int, up: Fraction, rho: Fraction) -> Iterator[tuple[int, Fraction]]:
    """Every sequence of available and unavailable nodes, drawn from Polya's urn, with its exact probability."""
    for draws in product((0, 1), repeat=nodes):
        probability = Fraction(1)
        for drawn, ok in enumerate(draws):
            seen = sum(draws[:drawn]) if ok else drawn - sum(draws[:drawn])
            share = up if ok else 1 - up
            probability *= (share * (1 - rho) + seen * rho) / (1 - rho + drawn * rho)
        yield sum(draws), probability


@PROPERTY
@given(st.integers(1, 7), st.fractions(0, 1, max_denominator=50), st.fractions(0, 1, max_denominator=20))
def test_the_beta_binomial_is_that_of_all_sequences_one_by_one(nodes: int, up: Fraction, rho: Fraction) -> None:
    assume(rho < 1)
    enumerated = [0.0] * (nodes + 1)
    for successes, probability in urn(nodes, up, rho):
        enumerated[successes] += float(probability)
    assert beta_binomial(nodes, float(up), float(rho)) == pytest.approx(enumerated, abs=1e-12)


@PROPERTY
@given(
    st.integers(1, 6), st.integers(1, 3), st.integers(1, 7), st.fractions(0, 1, max_denominator=30), st.fractions(0, 1, max_denominator=7)
)
def test_the_closed_form_is_that_of_every_pattern_of_nodes(nodes: int, racks: int, size: int, away: Fraction, share: Fraction) -> None:
    whole = away * share
    rest = (away - whole) / (1 - whole) if whole < 1 else Fraction(0)
    mean = Fraction(0)
    for rack_up, *up in product((0, 1), repeat=nodes + 1):
        probability = 1 - whole if rack_up else whole
        for ok in up:
            probability *= 1 - rest if ok else rest
        mean += probability * (sum(up) * rack_up // size * size)
    model = Outages(unavailability=float(away), whole_rack_share=float(share))
    assert expected(Fleet.uniform(racks, nodes), (size,), model) == pytest.approx(float(racks * mean), abs=1e-10)


@PROPERTY
@given(st.integers(0, 14), sizes)
def test_a_domain_is_filled_as_well_as_any_combination_of_slices(nodes: int, sizes: Sizes) -> None:
    tries = product(*(range(nodes // size + 1) for size in sizes))
    filled = [sum(count * size for count, size in zip(counts, sizes, strict=True)) for counts in tries]
    assert fill(nodes, sizes)[nodes] == max(used for used in filled if used <= nodes)


# ---- invariants


@PROPERTY
@given(st.integers(1, 80), outages)
def test_probabilities_sum_to_one_and_the_mean_is_the_availability(nodes: int, model: Outages) -> None:
    weights = available(nodes, model)
    assert all(weight >= 0 for weight in weights)
    assert sum(weights) == pytest.approx(1, abs=1e-11)
    assert sum(k * weight for k, weight in enumerate(weights)) == pytest.approx(nodes * (1 - model.unavailability), abs=1e-9)


@PROPERTY
@given(st.integers(1, 40), sizes, shares, shares, shares, shares)
def test_more_unavailability_never_helps(nodes: int, sizes: Sizes, one: float, other: float, rho: float, share: float) -> None:
    fleet = Fleet.uniform(3, nodes)
    less, more = (expected(fleet, sizes, Outages(unavailability=p, rho=rho, whole_rack_share=share)) for p in sorted((one, other)))
    assert less >= more - 1e-9


@PROPERTY
@given(st.integers(1, 40), st.integers(1, 40), outages)
def test_a_choice_of_sizes_is_never_worse_than_one_of_them(nodes: int, size: int, model: Outages) -> None:
    fleet = Fleet.uniform(2, nodes)
    assert expected(fleet, (size, 16), model) >= expected(fleet, (size,), model) - 1e-9


@PROPERTY
@given(st.integers(1, 30), shares)
def test_without_correlation_it_is_the_binomial_and_with_all_of_it_all_or_nothing(nodes: int, p: float) -> None:
    nearly = available(nodes, Outages(unavailability=p, rho=1e-9))
    assert nearly == pytest.approx(available(nodes, Outages(unavailability=p)), abs=1e-6)
    together = available(nodes, Outages(unavailability=p, rho=1 - 1e-12))
    assert together == pytest.approx(available(nodes, Outages(unavailability=p, rho=1)), abs=1e-9)
    assert available(nodes, Outages(unavailability=p, rho=1)) == pytest.approx([p, *[0] * (nodes - 1), 1 - p])
    assert available(nodes, Outages(unavailability=p, whole_rack_share=1)) == pytest.approx([p, *[0] * (nodes - 1), 1 - p])


@PROPERTY
@given(st.integers(1, 20), st.integers(1, 25), sizes, outages)
def test_the_distribution_agrees_with_the_mean(racks: int, nodes: int, sizes: Sizes, model: Outages) -> None:
    fleet = Fleet.uniform(racks, nodes)
    found = usable(fleet, sizes, model)
    assert found.mean == pytest.approx(expected(fleet, sizes, model), abs=1e-8)
    assert found.total.exact is not None
    assert sum(found.total.exact.weights) == pytest.approx(1, abs=1e-9)
    assert found.total.exact.mean == pytest.approx(found.mean, abs=1e-6)


def test_domains_of_several_sizes_add_up() -> None:
    mixed = Fleet.of([18] * 5 + [9] * 3 + [1] * 4 + [72])
    assert mixed.nodes == 90 + 27 + 4 + 72
    assert mixed.count == 13
    assert mixed.usual_size == 18
    apart = sum(expected(Fleet.uniform(count, size), (8,), TWO_PERCENT) for size, count in ((18, 5), (9, 3), (1, 4), (72, 1)))
    assert expected(mixed, (8,), TWO_PERCENT) == pytest.approx(apart)
    assert usable(mixed, (8,), TWO_PERCENT).mean == pytest.approx(apart)


def test_a_wide_domain_stays_in_the_range_of_floats() -> None:
    weights = available(1024, Outages(unavailability=0.5, rho=0.01))
    assert sum(weights) == pytest.approx(1, abs=1e-9)
    assert weights == pytest.approx(weights[::-1], rel=1e-6)


# ---- figures


@pytest.mark.parametrize(
    ("sizes", "nodes"),
    [
        ((8,), 2042.7),
        ((9,), 1952.8),
        ((16,), 2037.3),
        ((18,), 1601.6),
        ((17,), 2068.3),
        ((1,), 2257.9),
        ((18, 16), 2215.3),
        ((18, 17, 16), 2248.0),
        ((16, 2), 2224.6),
        ((9, 8), 2254.0),
        ((16, 9, 8), 2254.0),
        ((18, 16, 9, 8), 2254.0),
        ((16, 1), 2257.9),
    ],
)
def test_usable_nodes_of_128_racks_at_two_percent(sizes: Sizes, nodes: float) -> None:
    assert round(expected(FLEET, sizes, TWO_PERCENT), 1) == nodes
    assert round(usable(FLEET, sizes, TWO_PERCENT).mean, 1) == nodes


def test_the_headline_ratios() -> None:
    nodes = {sizes: expected(FLEET, sizes, TWO_PERCENT) for sizes in ((8,), (9,), (16,), (18,), (18, 16))}
    assert round(nodes[16,] / nodes[18,], 3) == 1.272
    assert round(nodes[16,] / nodes[9,] - 1, 2) == 0.04
    assert round(nodes[18, 16] / nodes[16,] - 1, 3) == 0.087
    assert round(nodes[18, 16] / nodes[18,] - 1, 2) == 0.38


@pytest.mark.parametrize(
    ("size", "sd", "p01", "slices_99", "slices_999"),
    [(8, 6.5, 2024, 253, 252), (9, 46.9, 1845, 205, 200), (16, 13.0, 2000, 125, 124), (18, 93.7, 1386, 77, 72)],
)
def test_spread_and_promises_of_128_racks_at_two_percent(size: int, sd: float, p01: int, slices_99: int, slices_999: int) -> None:
    found = usable(FLEET, (size,), TWO_PERCENT)
    assert round(found.total.sd, 1) == sd
    assert found.nodes_with(0.99) == p01
    assert (found.slices_with(0.99), found.slices_with(0.999)) == (slices_99, slices_999)
    assert found.total.error == 0


@pytest.mark.parametrize(("rho", "of_16", "of_18"), [(0, 2037, 1602), (0.05, 1985, 1776), (0.1, 1961, 1875), (0.2, 1948, 1992)])
def test_correlation_in_racks_narrows_the_gap(rho: float, of_16: int, of_18: int) -> None:
    model = Outages(unavailability=0.02, rho=rho)
    assert [round(expected(FLEET, (size,), model)) for size in (16, 18)] == [of_16, of_18]


@pytest.mark.parametrize(
    ("share", "of_16", "of_18", "of_9", "ratio"),
    [
        (0, 2037, 1602, 1953, 1.272),
        (0.25, 2033, 1744, 2018, 1.166),
        (0.5, 2026, 1900, 2090, 1.066),
        (0.75, 2017, 2071, 2170, 0.974),
        (1, 2007, 2258, 2258, 0.889),
    ],
)
def test_whole_rack_outages_turn_the_gap_round(share: float, of_16: int, of_18: int, of_9: int, ratio: float) -> None:
    model = Outages(unavailability=0.02, whole_rack_share=share)
    nodes = [expected(FLEET, (size,), model) for size in (16, 18, 9)]
    assert [round(found) for found in nodes] == [of_16, of_18, of_9]
    assert round(nodes[0] / nodes[1], 3) == ratio


def test_two_node_trays_that_fail_together() -> None:
    trays = Fleet.uniform(128, 9)
    assert round(2 * expected(trays, (8,), TWO_PERCENT)) == 2021
    assert round(2 * expected(trays, (9,), TWO_PERCENT)) == 1921


@pytest.mark.parametrize(("size", "mean", "sd", "p01"), [(16, 2033, 37, 1904), (18, 1746, 92, 1512)])
def test_a_power_row_of_eight_racks_leaves_the_mean_and_triples_the_spread(size: int, mean: int, sd: int, p01: int) -> None:
    row = domain_usable(18, (size,), Outages(unavailability=0.015)).times(8)
    shaken = {value: 0.995 * weight for value, weight in zip(row.values, row.weights, strict=True)}
    shaken[0] = shaken.get(0, 0.0) + 0.005
    fleet = type(row).of(shaken).times(16)
    assert round(fleet.mean) == mean
    assert round(fleet.moment(2) ** 0.5) == sd
    assert fleet.at_least(0.99) == p01


PERCENT_AWAY = (0, 0.5, 1, 2, 3, 5, 10)


@pytest.mark.parametrize(
    ("size", "percents"),
    [
        (1, "100.00 99.50 99.00 98.00 97.00 95.00 90.00"),
        (2, "100.00 99.04 98.15 96.55 95.13 92.64 87.27"),
        (4, "88.89 88.89 88.87 88.77 88.54 87.60 82.95"),
        (8, "88.89 88.88 88.86 88.66 88.19 86.31 77.06"),
        (9, "100.00 95.69 91.73 84.76 78.90 69.86 57.50"),
        (16, "88.89 88.88 88.82 88.43 87.49 83.72 65.23"),
        (17, "94.44 94.10 93.15 89.77 84.97 73.05 42.53"),
        (18, "100.00 91.37 83.45 69.51 57.80 39.72 15.01"),
    ],
)
def test_usable_share_of_a_rack_of_18(size: int, percents: str) -> None:
    found = [expected(RACK, (size,), Outages(unavailability=away / 100)) / 18 for away in PERCENT_AWAY]
    assert " ".join(f"{share * 100:.2f}" for share in found) == percents


@pytest.mark.parametrize(
    ("most", "percents"),
    [(2, "99.99 99.93 99.48 98.43 94.19 73.38"), (1, "99.64 98.62 95.05 89.97 77.35 45.03")],
    ids=["the rack can host a slice of 16", "a spare is left"],
)
def test_chance_that_at_most_so_many_nodes_of_a_rack_are_down(most: int, percents: str) -> None:
    found = [sum(available(18, Outages(unavailability=away / 100))[18 - most :]) for away in PERCENT_AWAY[1:]]
    assert " ".join(f"{share * 100:.2f}" for share in found) == percents


def test_16_loses_little_of_itself_up_to_three_percent() -> None:
    at = [expected(RACK, (16,), Outages(unavailability=p)) / 18 for p in (0, 0.03)]
    assert round((at[0] - at[1]) * 100, 1) == 1.4


# ---- the strip and the live point


def test_what_each_failure_costs_each_slice_size() -> None:
    assert after_failures(18, (16,)) == (16, 16, 16, *[0] * 16)
    assert after_failures(18, (18,)) == (18, *[0] * 18)
    assert after_failures(18, (9,)) == (18, *[9] * 9, *[0] * 9)
    assert after_failures(18, (8,))[:12] == (16, 16, 16, *[8] * 8, 0)
    assert after_failures(18, (18, 16))[:4] == (18, 16, 16, 0)
    assert after_failures(18, (20,)) == (0,) * 19


@PROPERTY
@given(st.integers(1, 30), sizes)
def test_a_failure_never_gains_nodes(nodes: int, sizes: Sizes) -> None:
    strip = after_failures(nodes, sizes)
    assert len(strip) == nodes + 1
    assert all(before >= after >= 0 for before, after in pairwise(strip))


def test_the_live_point_counts_what_is_there_now() -> None:
    domains = [(18, 18), (18, 16), (18, 15), (9, 9), (1, 0)]
    assert usable_now(domains, (16,)) == 32
    assert usable_now(domains, (9,)) == 18 + 9 + 9 + 9
    assert usable_now(domains, (18, 16)) == 18 + 16
    assert usable_now([], (16,)) == 0


# ---- wrong input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Outages(unavailability=2), "unavailability: 2 is not valid; give a share from 0 to 1, such as 0.02 for 2 %"),
        (lambda: Outages(unavailability=float("nan")), "unavailability: nan is not valid"),
        (lambda: Outages(unavailability=0.1, rho=-0.1), "rho: -0.1 is not valid"),
        (lambda: Outages(unavailability=0.1, whole_rack_share=1.1), "whole_rack_share: 1.1 is not valid"),
        (lambda: Fleet.uniform(0, 18), "racks: 0 is not valid; give a whole number from 1 to"),
        (lambda: Fleet.uniform(1, 0), "nodes_per_rack: 0 is not valid; give a whole number from 1 to 1024"),
        (lambda: expected(RACK, (0,), TWO_PERCENT), "slices: 0 is not valid; give a whole number from 1 to 1024"),
        (lambda: usable(RACK, (), TWO_PERCENT), r"slices: \(\) is not valid; give at least one slice size"),
    ],
)
def test_a_wrong_value_is_named_with_what_would_be_right(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(InvalidRequest, match=message):
        make()
