"""Where sizes overtake each other, and what that makes them worth."""

from __future__ import annotations

import pytest

from scheduling.domain.capacity.compare import advantage, break_evens
from scheduling.domain.capacity.model import Outages
from tests.domain.capacity.fleets import FLEET, TWO_PERCENT


@pytest.mark.parametrize(("size", "percent"), [(17, 2.36), (18, 0.65), (9, 1.41)])
def test_larger_or_uneven_slices_win_only_below(size: int, percent: float) -> None:
    first, *later = break_evens(FLEET, (size,), (16,), TWO_PERCENT)
    assert round(first.at * 100, 2) == percent
    assert (first.better_below, first.better_above) == ((size,), (16,))
    # Far above any real fleet slices of 9 win again: a rack with 9 of 18 nodes still holds one.
    assert [(found.better_above, found.at > 0.1) for found in later] == ([((9,), True)] if size == 9 else [])


def test_16_loses_exactly_one_percent_to_8_at_3_27() -> None:
    (found,) = break_evens(FLEET, (16,), (8,), TWO_PERCENT, ratio=0.99)
    assert round(found.at * 100, 2) == 3.27
    at = Outages(unavailability=found.at)
    assert advantage(FLEET, (16,), (8,), at) == pytest.approx(0.99, abs=1e-9)
    assert found.better_below == (16,)


def test_whole_rack_outages_turn_it_at_67_8_percent() -> None:
    (found,) = break_evens(FLEET, (16,), (18,), TWO_PERCENT, vary="whole_rack_share")
    assert round(found.at, 3) == 0.678
    assert (found.better_below, found.better_above) == ((16,), (18,))


def test_correlation_turns_it_between_a_tenth_and_a_fifth() -> None:
    (found,) = break_evens(FLEET, (16,), (18,), TWO_PERCENT, vary="rho")
    assert 0.1 < found.at < 0.2


def test_8_is_never_behind_16_on_a_rack_of_18() -> None:
    assert break_evens(FLEET, (16,), (8,), TWO_PERCENT) == ()


@pytest.mark.parametrize(("percent", "price"), [(2, 1.27), (1, 1.06), (3, 1.51), (0.5, 0.97)])
def test_what_a_node_of_a_whole_rack_slice_must_be_worth(percent: float, price: float) -> None:
    found = advantage(FLEET, (16,), (18,), Outages(unavailability=percent / 100))
    assert found is not None
    assert round(found, 2) == price


def test_there_is_no_advantage_over_a_size_that_fits_nowhere() -> None:
    assert advantage(FLEET, (16,), (20,), TWO_PERCENT) is None
    assert advantage(FLEET, (20,), (16,), TWO_PERCENT) == 0
