"""Proving plans: the exact search with HiGHS, here or in a child process; not part of the domain, since answers depend on the machine."""

from __future__ import annotations

from scheduling.solver.exact import solve

__all__ = ["solve"]
