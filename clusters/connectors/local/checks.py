"""Checks of local nodes: a program that the node's agent runs, or, where there is none, a question that the agent answers.

Each check is answered once: by how its program ended, by the agent, or by the time limit. A node that goes down meanwhile has said enough.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clusters.connectors.local.nodes import NodeProcess
from clusters.connectors.local.program import Program
from clusters.connectors.local.work import key_of
from clusters.domain.health_events import NodeChecked


@dataclass(frozen=True, slots=True)
class _Check:
    process: NodeProcess
    number: int
    ends: float  # monotonic time

    @property
    def key(self) -> str:
        """What it is called on its node; no job is called so."""
        return key_of("check", self.number)


class LocalChecks:
    """The checks that run, at most one of a node."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._running: dict[str, _Check] = {}
        self._asked: dict[str, int] = {}  # node -> number of the last check it was asked for

    def __bool__(self) -> bool:
        return bool(self._running)

    def start(self, process: NodeProcess, number: int) -> None:
        """Check the node, unless that or a later check was asked for before."""
        node = process.node
        if number <= self._asked.get(node, 0):
            return
        self._asked[node] = number
        self.stop(node)
        check = _Check(process, number, time.monotonic() + self._program.check_seconds)
        self._running[node] = check
        if self._program.check:
            env = {**self._program.env, "SLICEKEEPER_NODE": node}
            process.run(check.key, list(self._program.check), env, self._program.directory / f"check-{node}.log")
        else:
            process.ask(check.key)

    def stop(self, node: str) -> None:
        """Nobody waits for the node's check any more."""
        check = self._running.pop(node, None)
        if check is not None:
            check.process.stop(check.key, 0.0)

    def forget(self, node: str) -> None:
        """The node is gone for good: one that comes under its name is numbered anew."""
        self.stop(node)
        self._asked.pop(node, None)

    def heard(self, process: NodeProcess, line: dict[str, Any]) -> NodeChecked | None:
        """What the node says of its check; None where that is no end of the one that is waited for."""
        check = self._running.get(process.node)
        if check is None or check.key not in (line.get("ended"), line.get("answer")):
            return None
        del self._running[process.node]
        if "answer" in line:
            return _answer(check, passed=True, detail=f"process {line['pid']} answers")
        code = line["code"]
        ended = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return _answer(check, passed=code == 0, detail=line["error"] or f"{self._program.check[0]} {ended}")

    def overdue(self) -> Iterator[NodeChecked]:
        """The checks whose time is up."""
        now = time.monotonic()
        for node, check in list(self._running.items()):
            if check.ends <= now:
                self.stop(node)
                yield _answer(check, passed=False, detail=f"no answer within {self._program.check_seconds:g} s")


def _answer(check: _Check, *, passed: bool, detail: str) -> NodeChecked:
    return NodeChecked(node=check.process.node, number=check.number, passed=passed, detail=detail)
