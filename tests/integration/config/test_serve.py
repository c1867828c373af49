"""`manage.py serve` as people run it: a process of its own, its own data, a port of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import pytest

from config import env
from tests.support.patience import PATIENCE
from tests.support.shared import ROOT


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLICEKEEPER_")}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return {**kept, env.DATA_DIR: str(tmp_path), env.PORT: str(port), "PYTHONUNBUFFERED": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running `serve` and the file that it writes to."""

    process: subprocess.Popen[bytes]
    output: Path

    def said(self) -> str:
        return self.output.read_text(encoding="utf-8")

    def link(self) -> str:
        """Wait for the line that says where to go."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            for line in self.said().splitlines():
                if line.startswith("open "):
                    return line.removeprefix("open ")
            time.sleep(0.05)
        pytest.fail(f"no link was printed: {self.said()}")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[dict[str, str]], Server]]:
    started: list[Server] = []

    def start(environ: dict[str, str]) -> Server:
        output = tmp_path / "output"
        with output.open("wb") as file:
            process = subprocess.Popen([sys.executable, "manage.py", "serve"], cwd=ROOT, env=environ, stdout=file, stderr=subprocess.STDOUT)
        started.append(Server(process=process, output=output))
        return started[-1]

    yield start
    for server in started:
        server.process.kill()
        server.process.wait()


def status_of(path: str, port: int) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_migrates_prints_a_link_that_answers_and_stops_cleanly(
    number: signal.Signals, start: Callable[[dict[str, str]], Server], environ: dict[str, str]
) -> None:
    server = start(environ)
    assert server.link().startswith(f"http://127.0.0.1:{environ[env.PORT]}/")
    assert status_of("/login/", int(environ[env.PORT])) == 200
    server.process.send_signal(number)
    assert server.process.wait(PATIENCE) == 0
    assert server.said().splitlines()[-1] == "stopped"
    assert "Traceback" not in server.said()


@pytest.mark.slow
def test_a_taken_port_is_named_with_what_to_do(start: Callable[[dict[str, str]], Server], environ: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", int(environ[env.PORT]))):
        server = start(environ)
        assert server.process.wait(PATIENCE) == 1
    assert f"port {environ[env.PORT]}" in server.said()
    assert "PORT=" in server.said()
    assert "bringing the tables" not in server.said()
    assert "Traceback" not in server.said()


@pytest.mark.slow
def test_a_second_server_on_the_same_database_says_so(start: Callable[[dict[str, str]], Server], environ: dict[str, str]) -> None:
    first = start(environ)
    first.link()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    second = start({**environ, env.PORT: str(port)})
    assert second.process.wait(PATIENCE) == 1
    assert "Another server runs on" in second.said()
    assert first.process.poll() is None


@pytest.mark.slow
def test_with_redis_it_says_which_processes_to_start(start: Callable[[dict[str, str]], Server], environ: dict[str, str]) -> None:
    several = {env.REDIS_URL: "redis://127.0.0.1:6379/0", env.SECRET_KEY: "s" * 50, env.ALLOWED_HOSTS: "localhost"}
    server = start({**environ, **several})
    assert server.process.wait(PATIENCE) == 1
    assert "uvicorn config.asgi:application" in server.said()
