"""Proving plans: the exact search with HiGHS, here or in a child process; not part of the domain, since answers depend on the machine."""

from __future__ import annotations

from scheduling.domain.defrag.model import Problem, Solution


def solve(problem: Problem, seconds: float) -> Solution | None:
    """The best plan found within about `seconds`; None where there is none, or none was found."""
    from scheduling.solver import exact  # the solver is only loaded where it runs

    return exact.solve(problem, seconds)
