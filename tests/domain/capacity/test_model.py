"""The closed form against enumeration and against its own limits; the figures quoted from it are in test_figures."""

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
    expected,
    fill,
    usable,
    usable_now,
)
from tests.domain.capacity.fleets import PROPERTY, RACK, TWO_PERCENT

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
