"""Starts and stops the parts of an installation on this machine, each as a process of its own: `python -m config.parts start|stop|status`.

Each part has a file NAME.lock in `parts/` of the data directory that holds its process id, and that the process keeps locked for as long as
it or a child of it lives. So a part is never started twice, a process id that was given to another program since is never signalled, and a
stop is over when nothing of the part is left. It needs nothing but the standard library: it runs before anything else does.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
DEFAULT_PORTS = "8001 8002"

READY_SECONDS = 90.0  # two cores start seven processes in about ten
STOP_SECONDS = 15.0
LOOK_SECONDS = 0.3
LAST_LINES = 15  # of the log of a part that did not start


class PartError(RuntimeError):
    """A part that does not start or stop, and what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One process to run."""

    name: str
    command: tuple[str, ...]
    port: int | None = None  # of those that serve


def parts(ports: Sequence[int]) -> list[Part]:
    """Everything but the databases."""
    python = sys.executable
    celery = (python, "-m", "celery", "--quiet", "-A", "config.celery")
    web = (python, "-m", "uvicorn", "config.asgi:application", "--host", HOST, "--lifespan", "off", "--no-server-header")
    unpacked = ("--ws-per-message-deflate", "false")  # as in `embedded`: a frame is made once for all sockets
    quiet = ("--without-mingle", "--without-gossip", "--concurrency", "1")
    return [
        *(
            Part(name=f"web-{number}", port=port, command=(*web, *unpacked, "--timeout-graceful-shutdown", "3", "--port", str(port)))
            for number, port in enumerate(ports, 1)
        ),
        *(
            Part(name=f"worker-{queue}", command=(*celery, "worker", "-Q", queue, "-n", f"{queue}@%h", *quiet))
            for queue in ("pass", "slow")
        ),
        Part(name="beat", command=(*celery, "beat", "--pidfile=")),
        Part(name="fleets", command=(python, "manage.py", "run_fleets")),
    ]


class Place:
    """Where the parts keep their locks and logs."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def log(self, name: str) -> Path:
        return self.directory / f"{name}.log"

    def lock(self, name: str) -> Path:
        return self.directory / f"{name}.lock"

    def running(self, name: str) -> int | None:
        """The process id of a part that runs."""
        try:
            with self.lock(name).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return None
        except BlockingIOError:
            text = self.lock(name).read_text(encoding="ascii").strip()
            return int(text) if text else None
        return None

    def start(self, part: Part) -> bool:
        """Start a part unless it runs; whether it had to be."""
        with self.lock(part.name).open("a+b") as lock, self.log(part.name).open("ab") as log:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            lock.truncate(0)
            # Its own session: Ctrl-C in the terminal that started it is not meant for it, and a kill reaches its children.
            process = subprocess.Popen(
                part.command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, pass_fds=(lock.fileno(),)
            )
            lock.write(str(process.pid).encode())
        return True

    def stop(self, name: str) -> bool:
        """Ask a part to stop, and kill what is left of it after a while; whether it ran."""
        pid = self.running(name)
        if pid is None:
            return False
        os.kill(pid, signal.SIGTERM)
        if not self._gone(name, STOP_SECONDS):
            os.killpg(pid, signal.SIGKILL)
            if not self._gone(name, STOP_SECONDS):
                raise PartError(f"{name} (process {pid}) does not stop")
        return True

    def _gone(self, name: str, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while self.running(name) is not None:
            if time.monotonic() > until:
                return False
            time.sleep(LOOK_SECONDS)
        return True

    def last_lines(self, name: str) -> str:
        lines = self.log(name).read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-LAST_LINES:])


def start(place: Place, wanted: Sequence[Part]) -> None:
    """Start what does not run, and wait until the pages can be served and everything shows signs of life."""
    for part in wanted:
        say(f"{part.name}: {'started' if place.start(part) else 'runs already'}")
    until = time.monotonic() + READY_SECONDS
    for part in wanted:
        while (lacking := _lacking(place, part)) is not None:
            if time.monotonic() > until:
                raise PartError(f"{part.name} is not ready after {READY_SECONDS:g} s: {lacking}\n{place.last_lines(part.name)}")
            time.sleep(LOOK_SECONDS)


def _lacking(place: Place, part: Part) -> str | None:
    """What a part still lacks; raises PartError where it has ended."""
    if place.running(part.name) is None:
        raise PartError(f"{part.name} ended; its log says:\n{place.last_lines(part.name)}")
    if part.port is None:
        return None
    told = asked(part.port)
    if told is None:
        return "it does not answer"
    return "; ".join(told["reasons"] + told["warnings"]) or None


def asked(port: int) -> dict[str, Any] | None:
    """What /readyz says."""
    connection = HTTPConnection(HOST, port, timeout=10)
    try:
        connection.request("GET", "/readyz")
        told: dict[str, Any] = json.loads(connection.getresponse().read())
        return told if "ready" in told else None
    except (OSError, HTTPException, ValueError, TypeError):
        return None
    finally:
        connection.close()


def status(place: Place, wanted: Sequence[Part]) -> bool:
    """Say what runs where; whether everything does."""
    running = {part.name: place.running(part.name) for part in wanted}
    for part in wanted:
        pid = running[part.name]
        where = f"http://{HOST}:{part.port}" if part.port else ""
        say(f"{part.name:12} {f'process {pid}' if pid else 'does not run':16} {where:24} {place.log(part.name)}")
    return None not in running.values()


def stop(place: Place, wanted: Sequence[Part]) -> None:
    """Stop everything, what serves people first."""
    for part in wanted:
        say(f"{part.name}: {'stopped' if place.stop(part.name) else 'did not run'}")


def say(text: str) -> None:
    print(f"services: {text}", flush=True)


def main(arguments: Sequence[str]) -> int:
    place = Place((ROOT / os.environ.get("SLICEKEEPER_DATA_DIR", "var") / "parts").absolute())
    try:
        wanted = parts([int(port) for port in (os.environ.get("WEB_PORTS") or DEFAULT_PORTS).split()])
    except ValueError:
        say(f"WEB_PORTS is {os.environ['WEB_PORTS']!r}; give ports, such as {DEFAULT_PORTS!r}")
        return 2
    try:
        match list(arguments):
            case ["start"]:
                start(place, wanted)
                status(place, wanted)
            case ["stop"]:
                stop(place, wanted)
            case ["status"]:
                return 0 if status(place, wanted) else 1
            case _:
                say("say start, stop or status")
                return 2
    except PartError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
