"""The engines that the contract is held against."""

from __future__ import annotations

from typing import Protocol

from clusters.connectors.base import Connector
from clusters.connectors.simulated.fleet import SimulatedFleet
from clusters.connectors.simulated.options import FleetOptions
from clusters.domain.ids import MINUTE

NODES = tuple(f"n{number}" for number in range(6))


class Engine(Protocol):
    """A connector whose engine has NODES, and can be made to do what engines do."""

    connector: Connector

    def wait(self) -> None:
        """Let pass what an engine takes to start or stop work."""

    def finish(self, job: str) -> None:
        """Let pass what the job takes to its end."""

    def kill(self, node: str) -> None:
        """Let the node die with all that runs on it."""


class SimulatedEngine:
    """A simulated fleet on a clock of its own."""

    def __init__(self) -> None:
        self.fleet = SimulatedFleet(FleetOptions(failures_per_node_day=0))
        self.connector: Connector = self.fleet
        for node in NODES:
            self.fleet.machines.add(node)

    def wait(self) -> None:
        self.fleet.time += MINUTE

    def finish(self, job: str) -> None:
        run = next(run for run in self.fleet.workload if run.work.job == job)
        self.fleet.time += run.truth.duration

    def kill(self, node: str) -> None:
        self.fleet.machines.fail(node, self.fleet.time)
        self.fleet.workload.dead(node, self.fleet.time)


ENGINES: dict[str, type[Engine]] = {"simulated": SimulatedEngine}
