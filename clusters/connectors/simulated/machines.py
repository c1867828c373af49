"""The nodes of a fleet: up, or failed and under repair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusters.connectors.simulated.agenda import Agenda
from clusters.connectors.simulated.failures import FaultProcess, repair_time
from clusters.connectors.simulated.options import FleetOptions
from clusters.connectors.simulated.run import Told
from clusters.domain.health_events import NodeFailed, RepairFinished, RepairStarted
from clusters.domain.ids import MINUTE, Instant

#: From a failure to somebody working on it; half of the repair where that is shorter.
TRIAGE = 10 * MINUTE


@dataclass(slots=True)
class _Machine:
    failures: int = 0
    down_since: Instant | None = None
    in_repair: bool = False


class Machines:
    """All nodes. `faults` is what breaks them; anybody else may break or repair them too."""

    def __init__(self, options: FleetOptions) -> None:
        self._options = options
        self._machines: dict[str, _Machine] = {}
        self._repairs = Agenda()
        self.faults: FaultProcess | None = None

    # ---- what happened

    def add(self, node: str, *, failures: int = 0, down_since: Instant | None = None, in_repair: bool = False) -> None:
        """A node as it stands; one that is known already is left alone."""
        if node in self._machines:
            return
        self._machines[node] = _Machine(failures, down_since, in_repair)
        self._plan(node)

    def remove(self, node: str) -> None:
        """The node is gone for good."""
        self._machines.pop(node, None)
        self._repairs.set(node, None)

    def wear_from(self, base: Instant) -> None:
        """Failures befall the nodes there are from `base` on."""
        self.faults = FaultProcess(self._options, self._machines, base)

    def fail(self, node: str, at: Instant) -> None:
        """The node failed, whoever says so."""
        machine = self._machines.get(node)
        if machine is not None and machine.down_since is None:
            machine.failures += 1
            machine.down_since = at
            self._plan(node)

    def repair_started(self, node: str, at: Instant) -> None:
        """Somebody works on the node, which may have been said to be well a moment ago."""
        machine = self._machines.get(node)
        if machine is not None:
            machine.down_since = at if machine.down_since is None else machine.down_since
            machine.in_repair = True
            self._plan(node)

    def repaired(self, node: str) -> None:
        """The node is up again, whoever says so."""
        machine = self._machines.get(node)
        if machine is not None:
            machine.down_since = None
            machine.in_repair = False
            self._plan(node)

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
        dues = (self._repairs.first(), self.faults.at if self.faults is not None else None)
        return min((due for due in dues if due is not None), default=None)

    def facts(self, at: Instant) -> Iterator[Told]:
        """What happens by `at`. Each fact is to be taken in before the next is asked for."""
        for node in self._repairs.take(at):
            machine = self._machines[node]
            if machine.in_repair:
                yield _id(node, machine.failures, "repaired"), RepairFinished(node=node)
            else:
                yield _id(node, machine.failures, "repair"), RepairStarted(node=node)
        while self.faults is not None and self.faults.at is not None and self.faults.at <= at:
            node = self.faults.node
            self.faults.advance()
            if not self.is_down(node):
                number = self._machines[node].failures + 1
                yield _id(node, number, "failed"), NodeFailed(node=node, reason="hardware fault")


def _id(node: str, failures: int, what: str) -> str:
    return f"n/{node}/{failures}/{what}"
