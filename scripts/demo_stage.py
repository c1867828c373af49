"""The stage of demo_recovery.py: a control plane, local nodes and a training on them, and what is seen of it from outside."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from slicekeeper_worker import Api  # noqa: E402
from slicekeeper_worker.worker import ask_assignment  # noqa: E402

CLUSTER = "recovery"
#: Seconds after which the demonstration has failed.
PATIENCE = 120.0


_T = TypeVar("_T")


class Failed(Exception):
    """Something is not as it should be."""


@dataclass(slots=True)
class Seen:
    """One worker, as it has written itself down."""

    rank: int
    node: str
    pid: int
    lines: list[dict[str, Any]]

    @property
    def step(self) -> int:
        """The last one finished."""
        return int(self.lines[-1]["step"])

    @property
    def loss(self) -> float:
        """At that step."""
        losses = [line["loss"] for line in self.lines if line["loss"] is not None]
        return float(losses[-1]) if losses else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A training, how many nodes it has, and who is killed."""

    program: tuple[str, ...]  # arguments of Python
    nodes: int  # of its only slice
    per_rack: int  # two more: spares
    first: int  # the rank that is killed first
    then: tuple[int, ...]  # those that are killed at once then, more than spares are left
    options: tuple[str, ...] = ()  # of run_local


SCENES = {
    "numpy": Scene(program=("examples/data_parallel.py",), nodes=16, per_rack=18, first=5, then=(0, 7, 11)),
    # torchrun ends with an error, not by a signal, when what it has started is killed.
    "torch": Scene(
        program=("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1", "examples/torch_gloo.py"),
        nodes=4,
        per_rack=6,
        first=2,
        then=(0, 1, 3),
        options=("--blame-nodes",),
    ),
}


@dataclass(slots=True)
class Demo:
    """The control plane, the nodes, and what is seen of them."""

    directory: Path
    port: int
    scene: Scene
    python: str = sys.executable  # that runs the training
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    api: Api = field(init=False)
    job: str = ""

    # ---- what runs

    def start(self) -> None:
        """Everything, from an empty directory."""
        (self.directory / "steps").mkdir()
        (self.directory / "sockets").mkdir()
        self.manage("migrate", "--verbosity", "0")
        self.manage("create_local", CLUSTER, "--racks", "2", "--nodes-per-rack", str(self.scene.per_rack))
        self.background("serve", "serve")
        url = f"http://127.0.0.1:{self.port}"
        until(lambda: answers(self.port), "the control plane answers")
        token = self.manage("make_token", "--user", "admin", "--label", "demo").strip()
        self.api = Api(url=url, token=token, cluster=CLUSTER)
        settings = {
            "SLICEKEEPER_URL": url,
            "SLICEKEEPER_TOKEN": token,
            "SLICEKEEPER_SOCKETS": str(self.directory / "sockets"),
            "EXAMPLE_DIRECTORY": str(self.directory / "steps"),
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "SLICEKEEPER_MASTER_ADDR": "127.0.0.1",
        }
        options = ["--cluster", CLUSTER, "--logs", str(self.directory / "logs"), *self.scene.options]
        self.background("nodes", "run_local", *options, "--", self.python, *self.scene.program, **settings)

    def environment(self) -> dict[str, str]:
        """Of the control plane: nothing of this shell's own."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SLICEKEEPER_")}
        return {**kept, "SLICEKEEPER_DATA_DIR": str(self.directory / "data"), "PORT": str(self.port)}

    def manage(self, *words: str) -> str:
        """Run a command to its end."""
        done = subprocess.run(
            [sys.executable, "manage.py", *words], cwd=ROOT, env=self.environment(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Failed(f"manage.py {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def background(self, name: str, *words: str, **settings: str) -> None:
        """Start a command that runs on."""
        with (self.directory / f"{name}.log").open("wb") as log:
            environment = {**self.environment(), **settings}
            command = [sys.executable, "manage.py", *words]
            self.processes.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT))

    def stop(self) -> None:
        """The nodes first: their work ends with them."""
        for process in reversed(self.processes):
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(15)
            process.kill()

    def show_logs(self) -> None:
        """The ends of the latest."""
        logs = sorted(self.directory.glob("logs/*.log"), key=lambda log: -log.stat().st_mtime)
        for log in (*self.directory.glob("*.log"), *logs[:4]):
            print(f"--- {log.name}\n{log.read_text()[-1500:]}")

    def submit(self) -> None:
        """The training, on one slice."""
        wanted = {
            "name": "demo training",
            "kind": "training",
            "nodes": self.scene.nodes,
            "recovery": "peer",
            "checkpoint_interval_s": 60,
            "team": "demo",
        }
        self.job = self.api.post("jobs/", wanted)["id"]

    # ---- what is seen

    def workers(self) -> list[Seen]:
        """The present workers that have written something down, by rank."""
        assignment = ask_assignment(self.api, self.job, 0, 0)
        found = []
        for place in assignment.places:
            lines = list(self.lines(place.node)) if place.node else []
            lines = [line for line in lines if line["pid"] == lines[-1]["pid"]]
            if lines and lines[-1]["generation"] == assignment.generation:
                found.append(Seen(rank=place.rank, node=str(place.node), pid=lines[-1]["pid"], lines=lines))
        return found

    def lines(self, node: str) -> Iterator[dict[str, Any]]:
        """What workers of a node have written down."""
        with suppress(OSError):
            for line in (self.directory / "steps" / f"{node}.jsonl").read_text().splitlines():
                with suppress(ValueError):  # being written
                    yield json.loads(line)

    def all_beyond(self, step: int) -> list[Seen]:
        """All workers, once each has finished a step."""
        return until(lambda: self._all_beyond(step), f"all {self.scene.nodes} workers have finished step {step}")

    def _all_beyond(self, step: int) -> list[Seen]:
        seen = self.workers()
        return seen if len(seen) == self.scene.nodes and all(worker.step >= step for worker in seen) else []

    def events(self, after: int) -> list[dict[str, Any]]:
        """What the log says since a position."""
        items: list[dict[str, Any]] = self.api.get("events/", {"after": after, "limit": 1000})["items"]
        return items

    def head(self) -> int:
        """The position of the last event."""
        return int(self.api.get("")["seq"])


# ---- waiting


def until(look: Callable[[], _T], what: str) -> _T:
    """What `look` finds, once it finds something; raises Failed."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        if found := look():
            return found
        time.sleep(0.1)
    raise Failed(f"waited {PATIENCE:g} s in vain until {what}")


def answers(port: int) -> bool:
    """Whether something listens."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def free_port() -> int:
    """A port that nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
