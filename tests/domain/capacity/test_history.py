"""Collecting who had how many nodes away for how long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.errors import InvalidRequest
from scheduling.domain.capacity.history import History, Level
from tests.domain.capacity.fleets import PROPERTY


def test_each_level_has_the_time_it_lasted() -> None:
    history = History()
    history.observe(100, "r1", 18, 0)
    history.observe(130, "r1", 18, 1)
    history.observe(150, "r1", 18, 2)
    history.observe(160, "r1", 18, 1)
    seen = history.observed(200)
    assert (seen.since, seen.until, seen.span) == (100, 200, 100)
    assert seen.domains["r1"].spells == {Level(18, 0): 30, Level(18, 1): 20 + 40, Level(18, 2): 10}
    assert seen.domains["r1"].node_time == 18 * 100


def test_collecting_goes_on_after_a_look() -> None:
    history = History()
    history.observe(0, "r1", 2, 0)
    assert history.observed(10).domains["r1"].spells == {Level(2, 0): 10}
    history.observe(20, "r1", 2, 1)
    assert history.observed(30).domains["r1"].spells == {Level(2, 0): 20, Level(2, 1): 10}


def test_a_report_from_the_past_counts_from_when_it_was_told() -> None:
    history = History()
    history.observe(0, "r1", 2, 0)
    history.observe(50, "r2", 2, 0)
    history.observe(10, "r1", 2, 1)
    seen = history.observed(40)
    assert seen.until == 50
    assert seen.domains["r1"].spells == {Level(2, 0): 50}


def test_a_domain_that_comes_later_or_goes_has_only_its_own_time() -> None:
    history = History()
    history.observe(0, "r1", 18, 0)
    history.observe(40, "r2", 9, 1)
    history.observe(70, "r2", 0, 0)
    assert history.observed(100).domains["r2"].spells == {Level(9, 1): 30}


def test_whole_outages_are_counted_once_each_and_not_for_lone_nodes() -> None:
    history = History()
    for at, away in enumerate((0, 1, 2, 3, 2, 3, 3, 0, 3)):
        history.observe(at, "r1", 3, away)
        history.observe(at, "hgx", 1, min(away, 1))
    history.observe(20, "r1", 4, 4)
    seen = history.observed(30)
    assert seen.domains["r1"].whole_outages == 3
    assert seen.domains["hgx"].whole_outages == 0


def test_interruptions_are_counted_by_domain() -> None:
    history = History()
    history.observe(0, "r1", 18, 0)
    history.interrupted(5, "r1")
    history.interrupted(9, "r1")
    assert history.observed(10).domains["r1"].interruptions == 2


def test_what_a_domain_was_found_with_is_no_interruption() -> None:
    history = History()
    for at, domain in ((0, "r1"), (3, "r2")):
        history.observe(at, domain, 18, 1)
        history.interrupted(at, domain)
    history.interrupted(4, "r2")
    assert {name: times.interruptions for name, times in history.observed(10).domains.items()} == {"r1": 0, "r2": 1}


def test_nothing_seen_is_nothing() -> None:
    seen = History().observed(100)
    assert (seen.since, seen.span, seen.domains) == (None, 0, {})


def test_more_away_than_there_are_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"unavailable: 3 is not valid; give a whole number from 0 to the domain's nodes \(2\)"):
        History().observe(0, "r1", 2, 3)


steps = st.lists(st.tuples(st.integers(0, 50), st.sampled_from("abc"), st.integers(0, 5), st.integers(0, 5)), max_size=30)


@PROPERTY
@given(steps, st.integers(0, 100))
def test_every_moment_since_a_domain_came_is_counted_once(found: list[tuple[int, str, int, int]], more: int) -> None:
    history = History()
    first: dict[str, int] = {}
    now = 0
    for wait, domain, nodes, away in found:
        now += wait
        first.setdefault(domain, now)
        history.observe(now, domain, nodes + 1, min(away, nodes + 1))
    seen = history.observed(now + more)
    assert {name: sum(times.spells.values()) for name, times in seen.domains.items()} == {
        name: now + more - since for name, since in first.items()
    }
