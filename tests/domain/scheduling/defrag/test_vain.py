"""A search in vain says why, in counts."""

from __future__ import annotations

from dataclasses import replace

from scheduling.domain.defrag.model import Problem
from scheduling.domain.defrag.vain import out_of_budget, why_none
from tests.support.crowded import crowded

RACKS = 4


def problem(**changed: object) -> Problem:
    """Four racks, of which nothing stays where it is, and one is wanted whole."""
    made = crowded(3, RACKS, 0.8)
    free = tuple(replace(domain, pinned=()) for domain in made.domains)
    return replace(made, domains=free, **changed)  # type: ignore[arg-type]


def test_work_that_stays_is_counted_by_its_reason() -> None:
    pinned = (("j1", 4, "it cannot be restarted"), ("j2", 2, "it cannot be restarted"), ("j3", 2, "team red is exempt"))
    made = problem()
    why = why_none(replace(made, domains=tuple(replace(domain, pinned=pinned) for domain in made.domains)))
    assert why.code == "stays"
    assert why.stays == {"it cannot be restarted": 2, "team red is exempt": 1}
    assert why.counts == {"wanted": 1, "could": 0, "stay": 3}
    assert why.message == (
        "only 0 of 1 whole domain could be had if all that may move left; "
        "3 jobs stay: 2 cannot be restarted, 1 is left alone: team red is exempt"
    )


def test_a_budget_that_is_too_small_is_told_with_what_would_do() -> None:
    made = problem(most_moves=1)
    why = why_none(made)
    assert why.code == "moves"
    least = min(sum(unit.domain == index for unit in made.units) for index in range(RACKS))
    assert 1 < why.counts["least_moves"] <= least
    assert why.counts["most_moves"] == 1
    assert why.message.endswith("1 workload may be disturbed now")


def test_what_is_left_is_that_moved_work_has_no_other_place() -> None:
    made = problem(most_moves=100)
    why = why_none(made)
    assert why.code == "places"
    assert why.counts["free"] == sum(domain.slack for domain in made.domains)
    assert "no other place was found" in why.message


def test_only_domains_that_may_serve_count() -> None:
    made = problem(targets=0)
    assert why_none(made).counts["could"] == 0
    one_area = problem(areas=(0b0011, 0b1100), counts=(3,))
    assert why_none(one_area).counts == {"wanted": 3, "could": 2, "stay": 0}


def test_a_spent_budget_is_told_in_counts() -> None:
    why = out_of_budget(1, 12)
    assert (why.code, why.counts) == ("budget", {"disturbed": 1, "allowed": 12})
    assert why.message == "1 job was disturbed in the last hour, and 12 may be"
