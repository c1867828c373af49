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
from clusters.connectors.local.fleet import LocalFleet
from clusters.connectors.local.program import Program
from clusters.connectors.simulated.failures import is_unmended
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

    def botch(self) -> str:
        """A node that was repaired, and still has its fault."""

    def endless(self) -> str:
        """A node whose check takes longer than it takes to kill it."""

    def close(self) -> None:
        """Nobody needs it any more."""


class SimulatedEngine:
    """A simulated fleet on a clock of its own."""

    def __init__(self) -> None:
        self.fleet = SimulatedFleet(FleetOptions(failures_per_node_day=0, bad_repairs=0.5, check_s=30))
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

    def botch(self) -> str:
        node = next(node for node in NODES if is_unmended(self.fleet.options, node, 1))
        self.fleet.machines.fail(node, self.fleet.time)
        self.fleet.machines.repaired(node)
        return node

    def endless(self) -> str:
        return NODES[0]

    def close(self) -> None:
        """Nothing of it is outside of this process."""


#: Seconds without news after which processes are taken to have done what they were told, and the longest that this may take.
QUIET_SECONDS = 0.1
MOST_SECONDS = 20.0

#: The local node whose check fails, and the one whose check does not end.
BOTCHED, ENDLESS = NODES[5], NODES[4]


class LocalEngine:
    """Real processes of this machine."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory()
        self._gate = Path(self._directory.name) / "gate"
        os.mkfifo(self._gate)
        runs = ("/bin/sh", "-c", 'read line < "$1"; exit 0', "sh", str(self._gate))  # until somebody opens the gate
        checks = ("/bin/sh", "-c", f'case "$SLICEKEEPER_NODE" in {BOTCHED}) exit 3;; {ENDLESS}) exec sleep 3600;; esac')
        program = Program(argv=runs, directory=Path(self._directory.name), env={"PATH": os.environ["PATH"]}, check=checks)
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

    def botch(self) -> str:
        return BOTCHED

    def endless(self) -> str:
        return ENDLESS

    def close(self) -> None:
        self.fleet.close()
        self._directory.cleanup()


ENGINES: dict[str, type[Engine]] = {"simulated": SimulatedEngine, "local": LocalEngine}
