"""The search in a process of its own: its answer, its limit, and its death."""

from __future__ import annotations

import pytest

from scheduling.domain.defrag.cascade import first_plan
from scheduling.domain.defrag.model import Problem, Solution
from scheduling.solver import child
from tests.support.crowded import crowded


def answers(problem: Problem, seconds: float, *, kill: bool = False) -> list[Solution | None]:
    delivered: list[Solution | None] = []
    search = child.start(problem, seconds, delivered.append)
    if kill:
        search.stop()
    search.join()
    return delivered


def test_a_child_delivers_its_answer_once() -> None:
    (found,) = answers(crowded(0, 32, 0.91), 20.0)
    assert found is not None
    assert found.status == "optimal"
    assert found.rivals


def test_a_child_that_dies_leaves_the_first_plan() -> None:
    problem = crowded(0, 64, 0.91)
    (found,) = answers(problem, 20.0, kill=True)
    first = first_plan(problem)
    assert found is not None
    assert first is not None
    assert (found.moves, found.solver, found.status) == (first.moves, "cascade", "the solver failed")


def test_a_child_that_does_not_keep_its_time_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "GRACE_S", -20.0)  # so it is late before it has begun
    (found,) = answers(crowded(0, 64, 0.91), 20.0)
    assert found is not None
    assert found.status == "the solver was ended at its limit"
