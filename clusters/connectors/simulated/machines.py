"""The nodes of a fleet: up, or failed and under repair; and up again, but being checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusters.connectors.simulated.agenda import Agenda
from clusters.connectors.simulated.failures import FaultProcess, is_unmended, repair_time
from clusters.connectors.simulated.options import FleetOptions
from clusters.connectors.simulated.run import Told
from clusters.domain.health_events import NodeChecked, NodeFailed, RepairFinished, RepairStarted
from clusters.domain.ids import MINUTE, Instant

#: From a failure to somebody working on it; half of the repair where that is shorter.
TRIAGE = 10 * MINUTE


@dataclass(slots=True)
class _Machine:
    failures: int = 0
    down_since: Instant | None = None
    in_repair: bool = False
    checks: int = 0  # number of the last check that it was asked for
    checking: bool = False  # and somebody waits for its answer


class Machines:
    """All nodes. `faults` is what breaks them; anybody else may break or repair them too."""

    def __init__(self, options: FleetOptions) -> None:
        self._options = options
        self._machines: dict[str, _Machine] = {}
        self._repairs = Agenda()
        self._checks = Agenda()
        self.faults: FaultProcess | None = None

    # ---- what happened

    def add(self, node: str, *, failures: int = 0, checks: int = 0, down_since: Instant | None = None, in_repair: bool = False) -> None:
        """A node as it stands; one that is known already is left alone."""
        if node in self._machines:
            return
        self._machines[node] = _Machine(failures, down_since, in_repair, checks)
        self._plan(node)

    def remove(self, node: str) -> None:
        """The node is gone for good."""
        self._machines.pop(node, None)
        self._repairs.set(node, None)
        self._checks.set(node, None)

    def wear_from(self, base: Instant) -> None:
        """Failures befall the nodes there are from `base` on."""
        self.faults = FaultProcess(self._options, self._machines, base)

    def fail(self, node: str, at: Instant) -> None:
        """The node failed, whoever says so."""
        machine = self._machines.get(node)
        if machine is not None and machine.down_since is None:
            machine.failures += 1
            machine.down_since = at
            self.uncheck(node)
            self._plan(node)

    def repair_started(self, node: str, at: Instant) -> None:
        """Somebody works on the node, which may have been said to be well a moment ago."""
        machine = self._machines.get(node)
        if machine is not None:
            machine.down_since = at if machine.down_since is None else machine.down_since
            machine.in_repair = True
            self.uncheck(node)
            self._plan(node)

    def repaired(self, node: str) -> None:
        """The node is up again, whoever says so."""
        machine = self._machines.get(node)
        if machine is not None:
            machine.down_since = None
            machine.in_repair = False
            self._plan(node)

    def check(self, node: str, number: int, at: Instant) -> None:
        """Asked at `at` to find out whether the node works. One that is down is repaired first, and asked again then."""
        machine = self._machines.get(node)
        if machine is not None and machine.down_since is None and number > machine.checks:
            machine.checks = number
            machine.checking = True
            self._checks.set(node, at + self._options.check)

    def checked(self, node: str, number: int, at: Instant, *, passed: bool) -> None:
        """The answer stands in the log; it counts if it is still the one that was asked for."""
        machine = self._machines.get(node)
        if machine is None or not machine.checking or number != machine.checks:
            return
        self.uncheck(node)
        if not passed:
            self.fail(node, at)

    def uncheck(self, node: str) -> None:
        """Nobody waits for the node's check any more."""
        if node in self._machines:
            self._machines[node].checking = False
            self._checks.set(node, None)

    def uncheck_all(self) -> None:
        """Nobody waits for any check any more."""
        for node in self._machines:
            self.uncheck(node)

    def _plan(self, node: str) -> None:
        machine = self._machines[node]
        if machine.down_since is None:
            self._repairs.set(node, None)
            return
        repair = repair_time(self._options, node, machine.failures)
        self._repairs.set(node, machine.down_since + (repair if machine.in_repair else min(TRIAGE, repair // 2)))

    # ---- what is, and what happens next

    def __contains__(self, node: str) -> bool:
        return node in self._machines

    def is_down(self, node: str) -> bool:
        """Whether the node cannot run work."""
        machine = self._machines.get(node)
        return machine is None or machine.down_since is not None

    @property
    def due(self) -> Instant | None:
        """When something happens to a node next."""
        dues = (self._repairs.first(), self._checks.first(), self.faults.at if self.faults is not None else None)
        return min((due for due in dues if due is not None), default=None)

    def facts(self, at: Instant) -> Iterator[Told]:
        """What happens by `at`. Each fact is to be taken in before the next is asked for."""
        for node in self._repairs.take(at):
            machine = self._machines[node]
            if machine.in_repair:
                yield _id(node, machine.failures, "repaired", at), RepairFinished(node=node)
            else:
                yield _id(node, machine.failures, "repair", at), RepairStarted(node=node)
        for node in self._checks.take(at):
            yield self._answer(node, at)
        while self.faults is not None and self.faults.at is not None and self.faults.at <= at:
            node = self.faults.node
            self.faults.advance()
            if not self.is_down(node):
                number = self._machines[node].failures + 1
                yield _id(node, number, "failed", at), NodeFailed(node=node, reason="hardware fault")

    def _answer(self, node: str, at: Instant) -> Told:
        machine = self._machines[node]
        passed = not is_unmended(self._options, node, machine.failures)
        detail = "the fault is gone" if passed else "the fault is still there"
        return _id(node, machine.checks, "check", at), NodeChecked(node=node, number=machine.checks, passed=passed, detail=detail)


def _id(node: str, number: int, what: str, at: Instant) -> str:
    """Numbers begin anew where a node was removed and comes back: the time tells its lives apart."""
    return f"n/{node}/{number}/{what}/{at}"
