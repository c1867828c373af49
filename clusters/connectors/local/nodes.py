"""The processes that stand for nodes: started, spoken to, listened to, and found dead."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from clusters.connectors.local import agent

#: Without a beat for so long (seconds) a node is unreachable: it may be stopped, or the machine too busy. It is not taken for dead.
SILENT_SECONDS = 5.0

_SCRIPT = Path(agent.__file__)


class NodeProcess:
    """One node, while its process lives."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.works: dict[str, int] = {}  # key -> pid of what runs
        self.heard_at = time.monotonic()
        self.silent = False
        # Isolated and without site packages: it starts in a few milliseconds. A session of its own, so that all of it can be found.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, bufsize=0
        )
        self._rest = b""

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def fileno(self) -> int:
        """What it says can be waited for."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def run(self, key: str, argv: list[str], env: Mapping[str, str], log: Path) -> None:
        """Start work under this key, unless it runs."""
        self._order({"run": key, "argv": argv, "env": dict(env), "log": str(log)})

    def ask(self, key: str) -> None:
        """Have it answer under this key."""
        self._order({"ask": key})

    def stop(self, key: str, grace_s: float) -> None:
        """Ask the work to stop; it is killed when it has not after `grace_s`."""
        self._order({"stop": key, "grace_s": grace_s})

    def read(self) -> list[dict[str, Any]] | None:
        """What it has said since; None once it is dead. Call it when there is something."""
        piece = os.read(self.fileno(), 1 << 16)
        if not piece:
            return None
        self.heard_at = time.monotonic()
        *lines, self._rest = (self._rest + piece).split(b"\n")
        return [json.loads(line) for line in lines]

    def dismiss(self) -> None:
        """Nobody needs it any more: it stops what it runs, and ends."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def wait(self, seconds: float) -> None:
        """Give it so long to end."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def bury(self) -> str:
        """The process is dead, or is to be: kill all that it has started; returns how it ended."""
        self._process.kill()
        code = self._process.wait()
        for pid in {*self.works.values(), *_session(self.pid)}:
            agent.kill_group(pid, signal.SIGKILL)
        for end in (self._process.stdin, self._process.stdout):
            if end is not None:
                with suppress(OSError):
                    end.close()
        return f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"

    def _order(self, order: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # it is dead, which is found when it is listened to, or buried already
            self._process.stdin.write(json.dumps(order).encode() + b"\n")


def _session(leader: int) -> Iterator[int]:
    """Processes of the session, where the system shows them: work whose start nobody has told of yet."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            session = int((entry / "stat").read_text().rpartition(")")[2].split()[3])
            if session == leader:
                yield int(entry.name)


class NodeProcesses:
    """All nodes that are up."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._nodes: dict[str, NodeProcess] = {}

    def start(self, node: str) -> None:
        """Start the node's process unless it is up."""
        if node not in self._nodes:
            process = NodeProcess(node)
            self._nodes[node] = process
            self._selector.register(process, selectors.EVENT_READ)

    def get(self, node: str) -> NodeProcess | None:
        """The node's process while it is up."""
        return self._nodes.get(node)

    def __iter__(self) -> Iterator[NodeProcess]:
        return iter(list(self._nodes.values()))

    def listen(self, seconds: float) -> Iterator[tuple[NodeProcess, list[dict[str, Any]] | None]]:
        """What nodes say within so long, as soon as some do; None of one that is dead, which is then down."""
        for key, _ in self._selector.select(seconds):
            process = key.fileobj
            assert isinstance(process, NodeProcess)
            yield process, process.read()

    def end(self, node: str) -> str:
        """The node is down from here on; returns how its process ended."""
        process = self._nodes.pop(node, None)
        if process is None:
            return "was down"
        self._selector.unregister(process)
        return process.bury()

    def close(self) -> None:
        """End them all; what they run has a moment to stop by itself."""
        ends = time.monotonic() + agent.GOODBYE_SECONDS + 1
        for process in self:
            process.dismiss()
        for process in self:
            process.wait(max(0.0, ends - time.monotonic()))
            self.end(process.node)
        self._selector.close()
