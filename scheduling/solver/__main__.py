"""The child: one problem in, one solution out."""

from __future__ import annotations

import pickle
import sys

from scheduling.solver.exact import solve


def main() -> None:
    """Answer on the standard output, which nothing else writes to."""
    problem, seconds = pickle.load(sys.stdin.buffer)
    pickle.dump(solve(problem, seconds), sys.stdout.buffer)


main()
