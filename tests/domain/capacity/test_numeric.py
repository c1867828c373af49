"""Roots, Student's t and Poisson limits, against printed tables and exact values."""

from __future__ import annotations

from math import exp, factorial, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.domain.capacity.numeric import bisect, poisson_at_most, poisson_interval, roots, student_factor, student_within
from tests.domain.capacity.fleets import PROPERTY


def test_bisection_finds_a_root_to_the_last_bit() -> None:
    assert bisect(lambda x: x * x - 2, 0, 2) == pytest.approx(sqrt(2), rel=1e-15)
    assert bisect(lambda x: 2 - x * x, 0, 2) == pytest.approx(sqrt(2), rel=1e-15)


def test_all_changes_of_sign_are_found_and_a_touch_is_not() -> None:
    assert roots(lambda x: (x - 0.1234) * (x - 0.5) * (x - 0.9), 0, 1) == pytest.approx((0.1234, 0.5, 0.9))
    assert roots(lambda x: (x - 0.3333) ** 2, 0, 1) == ()
    assert roots(lambda _: 0.0, 0, 1) == ()


@pytest.mark.parametrize(
    ("confidence", "freedom", "printed"),
    [(0.95, 1, 12.706), (0.95, 2, 4.303), (0.99, 2, 9.925), (0.95, 7, 2.365), (0.95, 30, 2.042), (0.99, 60, 2.660), (0.95, 120, 1.980)],
)
def test_student_factors_are_those_of_the_tables(confidence: float, freedom: int, printed: float) -> None:
    assert student_factor(confidence, freedom) == pytest.approx(printed, abs=6e-4)


@PROPERTY
@given(st.floats(0.01, 50), st.integers(1, 200))
def test_student_probability_rises_with_t_and_stays_below_one(t: float, freedom: int) -> None:
    within = student_within(t, freedom)
    assert 0 < within < 1 + 1e-12
    assert student_within(t * 1.1, freedom) >= within - 1e-12


@PROPERTY
@given(st.integers(0, 30), st.floats(0.01, 40))
def test_the_poisson_sum_is_the_plain_one(count: int, mean: float) -> None:
    plain = sum(exp(-mean) * mean**k / factorial(k) for k in range(count + 1))
    assert poisson_at_most(count, mean) == pytest.approx(plain, rel=1e-9)


def test_nothing_expected_means_nothing_seen() -> None:
    assert poisson_at_most(0, 0.0) == 1.0


@pytest.mark.parametrize(
    ("count", "low", "high"),
    [(0, 0.0, 3.689), (1, 0.025, 5.572), (5, 1.623, 11.668), (10, 4.795, 18.390), (50, 37.111, 65.919), (1000, 938.97, 1063.95)],
)
def test_poisson_limits_are_those_of_the_tables(count: int, low: float, high: float) -> None:
    assert poisson_interval(count, 0.95) == pytest.approx((low, high), abs=6e-3)


@PROPERTY
@given(st.integers(1, 100_000))
def test_each_poisson_limit_leaves_its_half_of_the_error_outside(count: int) -> None:
    low, high = poisson_interval(count, 0.95)
    assert poisson_at_most(count, high) == pytest.approx(0.025, rel=1e-6)
    assert 1 - poisson_at_most(count - 1, low) == pytest.approx(0.025, rel=1e-6)
