"""The exact search in a child process, which is killed if it does not keep its time.

A solver may use a processor for seconds, and memory that is only given back with its process; neither belongs into a worker. The child
gets the problem on its standard input and answers on its standard output.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Thread

from scheduling.domain.defrag.cascade import first_plan
from scheduling.domain.defrag.model import Problem, Solution

#: Beyond its time a child gets so long to start and to answer.
GRACE_S = 3.0

Deliver = Callable[[Solution | None], None]

_HERE = Path(__file__).resolve().parents[2]


class Child:
    """A search that goes on."""

    def __init__(self, problem: Problem, seconds: float, deliver: Deliver) -> None:
        self._problem = problem
        self._seconds = seconds
        self._deliver = deliver
        self._process = subprocess.Popen(
            [sys.executable, "-m", "scheduling.solver"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=_HERE
        )
        self._thread = Thread(target=self._wait, name="solver", daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait until the answer has been delivered."""
        self._thread.join()

    def stop(self) -> None:
        """End the search at once; the first plan is delivered."""
        self._process.kill()

    def _wait(self) -> None:
        self._deliver(self._answer())

    def _answer(self) -> Solution | None:
        question = pickle.dumps((self._problem, self._seconds))
        with self._process as process:
            try:
                out, _ = process.communicate(question, timeout=self._seconds + GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                return self._without("the solver was ended at its limit")
        if process.returncode:
            return self._without("the solver failed")
        answer: Solution | None = pickle.loads(out)
        return answer

    def _without(self, status: str) -> Solution | None:
        """The plan that needs no solver."""
        first = first_plan(self._problem)
        return first if first is None or first.status == "optimal" else replace(first, status=status)


def start(problem: Problem, seconds: float, deliver: Deliver) -> Child:
    """Search in a child process; `deliver` is called once, on another thread, with the best plan found or None."""
    return Child(problem, seconds, deliver)
