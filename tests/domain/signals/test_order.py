"""Whether a source's signals come in its order, as far as one process can know."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clusters.signals.order import MOST_AHEAD, Order, Orders


def test_the_first_number_is_taken_for_early_and_the_next_ones_in_turn_are_not() -> None:
    order = Order()
    assert [order.has_come(number) for number in (5, 6, 7)] == [False, True, True]


def test_numbers_are_early_until_the_missing_one_has_come() -> None:
    order = Order()
    assert [order.has_come(number) for number in (0, 1, 3, 4, 3, 2, 5, 4)] == [False, True, False, False, False, True, True, True]


def test_a_number_that_never_comes_is_given_up() -> None:
    order = Order()
    order.has_come(0)
    assert not any(order.has_come(number) for number in range(2, MOST_AHEAD + 2))
    assert order.has_come(MOST_AHEAD + 2)
    assert order.has_come(MOST_AHEAD + 3)


@given(st.permutations(range(12)))
def test_what_has_come_has_nothing_missing_before_it(numbers: list[int]) -> None:
    order, seen = Order(), [0]
    order.has_come(0)
    for number in numbers:
        seen.append(number)
        assert order.has_come(number) == (set(range(number + 1)) <= set(seen))


def test_sources_and_logs_are_apart() -> None:
    orders = Orders()
    assert [orders.has_come(*which) for which in (("a", "s", 1), ("a", "s", 2), ("a", "t", 2), ("b", "s", 2))] == [
        False,
        True,
        False,
        False,
    ]
