"""Sums of distributions: exact where they are said to be, bounded where not."""

from __future__ import annotations

from fractions import Fraction
from math import comb, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.domain.capacity.distribution import Distribution, total_of
from tests.domain.capacity.fleets import PROPERTY

weights = st.dictionaries(st.integers(0, 40), st.integers(1, 100), min_size=1, max_size=6)


def distribution(counts: dict[int, int]) -> Distribution:
    return Distribution.of({value: count / sum(counts.values()) for value, count in counts.items()})


def exact_sum(left: dict[int, Fraction], right: dict[int, Fraction]) -> dict[int, Fraction]:
    found: dict[int, Fraction] = {}
    for x, p in left.items():
        for y, q in right.items():
            found[x + y] = found.get(x + y, Fraction(0)) + p * q
    return found


def probabilities(found: Distribution) -> dict[int, float]:
    return {value: weight for value, weight in zip(found.values, found.weights, strict=True) if weight}


@PROPERTY
@given(weights, weights)
def test_the_sum_of_two_is_that_of_exact_fractions(left: dict[int, int], right: dict[int, int]) -> None:
    parts = [{value: Fraction(count, sum(counts.values())) for value, count in counts.items()} for counts in (left, right)]
    found = probabilities(distribution(left).plus(distribution(right)))
    assert found == pytest.approx({value: float(p) for value, p in exact_sum(*parts).items()})


@PROPERTY
@given(weights, st.integers(1, 12))
def test_many_times_is_one_after_the_other(counts: dict[int, int], times: int) -> None:
    one = distribution(counts)
    chained = one
    for _ in range(times - 1):
        chained = chained.plus(one)
    found, wanted = probabilities(one.times(times)), probabilities(chained)
    for value in found.keys() | wanted.keys():  # light tails are cut at one place or the other
        assert found.get(value, 0.0) == pytest.approx(wanted.get(value, 0.0), abs=1e-14)


@PROPERTY
@given(weights, st.integers(1, 80))
def test_a_sum_has_all_the_probability_and_the_moments_of_its_terms(counts: dict[int, int], times: int) -> None:
    one = distribution(counts)
    total = one.times(times)
    assert sum(total.weights) == pytest.approx(1, abs=1e-9)
    assert total.mean == pytest.approx(times * one.mean, abs=1e-6)
    assert total.moment(2) == pytest.approx(times * one.moment(2), rel=1e-6, abs=1e-9)


def test_no_terms_are_nothing() -> None:
    assert probabilities(Distribution.of({7: 1.0}).times(0)) == {0: 1.0}


def test_the_step_is_as_wide_as_the_values_allow() -> None:
    assert Distribution.of({2: 0.5, 18: 0.25, 34: 0.25, 5: 0.0}).step == 16
    assert Distribution.of({7: 1.0}).step == 1


@PROPERTY
@given(weights, st.floats(0.01, 0.99))
def test_what_is_promised_is_reached_as_often_as_said_and_no_more_could_be(counts: dict[int, int], confidence: float) -> None:
    found = distribution(counts)
    most = found.at_least(confidence)
    assert sum(p for value, p in probabilities(found).items() if value >= most) >= confidence - 1e-9
    assert sum(p for value, p in probabilities(found).items() if value > most) < confidence + 1e-9


def test_a_fleet_of_two_kinds_of_domain_is_the_sum_of_both() -> None:
    coin, die = Distribution.of({0: 0.5, 4: 0.5}), Distribution.of(dict.fromkeys(range(1, 7), 1 / 6))
    total = total_of([(coin, 3), (die, 2)])
    assert total.exact is not None
    assert probabilities(total.exact) == pytest.approx(probabilities(coin.plus(coin).plus(coin).plus(die).plus(die)))
    assert total.mean == pytest.approx(3 * 2 + 2 * 3.5)
    assert total.sd == pytest.approx(sqrt(3 * 4 + 2 * 35 / 12))
    assert total.error == 0


def test_where_a_sum_is_too_wide_the_normal_stands_in_within_its_stated_error() -> None:
    up = 0.9
    total = total_of([(Distribution.of({0: 1 - up, 1: up}), 700_000)])
    assert total.exact is None
    assert 0 < total.error < 0.002
    promised = total.at_least(0.99)
    mean, sd = 630_000, sqrt(700_000 * up * (1 - up))
    assert promised == pytest.approx(mean - 2.326 * sd, abs=1)


@pytest.mark.parametrize("count", [200, 2_000])
def test_the_bound_on_the_normal_holds_against_the_exact_sum(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    term = Distribution.of({0: 0.1, 1: 0.9})
    exact = total_of([(term, count)])
    monkeypatch.setattr("scheduling.domain.capacity.distribution.MAX_POINTS", 1)
    normal = total_of([(term, count)])
    assert normal.exact is None
    assert exact.exact is not None
    for confidence in (0.5, 0.9, 0.99):
        promised = normal.at_least(confidence)
        reached = sum(comb(count, k) * 9**k / 10**count for k in range(promised, count + 1))
        assert abs(reached - confidence) <= normal.error
