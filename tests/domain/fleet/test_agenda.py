"""What is due when."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clusters.connectors.simulated.agenda import Agenda

Entry = tuple[str, int | None]


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.none() | st.integers(0, 9))), st.integers(0, 9))
def test_only_the_last_entry_of_each_key_counts(entries: list[Entry], upto: int) -> None:
    agenda = Agenda()
    expected: dict[str, int | None] = {}
    for key, due in entries:
        agenda.set(key, due)
        expected[key] = due
    dues = sorted((due, key) for key, due in expected.items() if due is not None)
    assert agenda.first() == (dues[0][0] if dues else None)
    assert agenda.take(upto) == [key for due, key in dues if due <= upto]
    left = [due for due, _ in dues if due > upto]
    assert agenda.first() == (left[0] if left else None)


def test_a_key_put_back_to_where_it_was_is_there_once() -> None:
    agenda = Agenda()
    for due in (5, 3, 5, None, 5):
        agenda.set("a", due)
    assert agenda.take(10) == ["a"]
    assert agenda.take(10) == []
