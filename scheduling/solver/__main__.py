"""The child: one problem in, one solution out."""

from __future__ import annotations

import os
import pickle
import sys

from scheduling.solver.exact import solve


def main() -> None:
    """Answer on a standard output that nothing else writes to."""
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the solver greets on its standard output
    problem, seconds = pickle.load(sys.stdin.buffer)
    pickle.dump(solve(problem, seconds), answer)
    answer.close()


main()
