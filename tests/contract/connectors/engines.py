"""The engines that the contract is held against."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Protocol

from clusters.connectors.base import Connector
from clusters.connectors.local.fleet import LocalFleet, Program
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

    def close(self) -> None:
        """Nobody needs it any more."""


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

    def close(self) -> None:
        """Nothing of it is outside of this process."""


#: Seconds without news after which processes are taken to have done what they were told, and the longest that this may take.
QUIET_SECONDS = 0.1
MOST_SECONDS = 20.0


class LocalEngine:
    """Real processes of this machine."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory()
        self._gate = Path(self._directory.name) / "gate"
        os.mkfifo(self._gate)
        runs = ("/bin/sh", "-c", 'read line < "$1"; exit 0', "sh", str(self._gate))  # until somebody opens the gate
        program = Program(argv=runs, directory=Path(self._directory.name))
        self.fleet = LocalFleet(program, count(1).__next__, "boot")
        self.connector: Connector = self.fleet
        for node in NODES:
            self.fleet.add(node)

    def wait(self) -> None:
        ends = time.monotonic() + MOST_SECONDS
        self.fleet.pump(QUIET_SECONDS)
        while self.fleet.busy and time.monotonic() < ends:
            self.fleet.pump(QUIET_SECONDS)

    def finish(self, job: str) -> None:
        while self.fleet.pids_of(job):
            with suppress(OSError):  # none of them has come to the gate yet
                os.close(os.open(self._gate, os.O_WRONLY | os.O_NONBLOCK))
            self.fleet.pump(QUIET_SECONDS)

    def kill(self, node: str) -> None:
        pid = self.fleet.pid_of(node)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        while self.fleet.pid_of(node) is not None:
            self.fleet.pump(QUIET_SECONDS)

    def close(self) -> None:
        self.fleet.close()
        self._directory.cleanup()


ENGINES: dict[str, type[Engine]] = {"simulated": SimulatedEngine, "local": LocalEngine}
