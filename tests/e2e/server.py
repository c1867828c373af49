"""A real server with a quiet cluster, in a process, a directory, a database and at a port of its own.

Or an installation that runs already: E2E_URLS holds the addresses of its web processes, E2E_CLUSTER names a quiet cluster of four racks,
and the environment is the one that its commands need.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from config import env
from tests.support.patience import PATIENCE
from tests.support.shared import ROOT

CLUSTER = os.environ.get("E2E_CLUSTER", "quiet")
URLS = tuple(os.environ.get("E2E_URLS", "").split())
STOP_SECONDS = 15


@dataclass(kw_only=True)
class Server:
    """`manage.py serve`, which may be stopped and started again with what it had."""

    environ: dict[str, str]
    directory: Path
    given: tuple[str, ...] = ()  # addresses of an installation that runs already
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Of the web process that people work at."""
        return self.given[0] if self.given else f"http://127.0.0.1:{self.environ[env.PORT]}"

    @property
    def other_url(self) -> str:
        """Of another web process, where there is one."""
        return self.given[-1] if self.given else self.url

    @property
    def log(self) -> Path:
        return self.directory / "serve.log"

    def manage(self, *arguments: str) -> str:
        """Run a management command; what it printed."""
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(command, cwd=ROOT, env=self.environ, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout

    def start(self) -> None:
        """Start, and wait until it says where to go."""
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve"], cwd=ROOT, env=self.environ, stdout=log, stderr=subprocess.STDOUT
            )
        until = time.monotonic() + PATIENCE
        while not self.link:
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server did not start: {self.log.read_text()}")
            time.sleep(0.05)

    @property
    def link(self) -> str:
        """The address that the server printed, or a new one of an installation that runs already."""
        if self.given:
            return self.manage("login_link", "--base-url", self.url).strip()
        found = re.search(r"^open (\S+)", self.log.read_text(), re.MULTILINE)
        return found[1] if found else ""

    def stop(self) -> None:
        """Stop as Ctrl-C does."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None


@contextmanager
def serving(directory: Path) -> Iterator[Server]:
    """A server with a cluster of four racks in which nothing fails by itself."""
    if URLS:
        yield Server(environ=dict(os.environ), directory=directory, given=URLS)
        return
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLICEKEEPER_")}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with database() as url:
        chosen = {env.DATABASE_URL: url} if url else {}
        server = Server(
            environ={**kept, **chosen, env.DATA_DIR: str(directory), env.PORT: str(port), "PYTHONUNBUFFERED": "1"}, directory=directory
        )
        server.manage("migrate", "--verbosity", "0")
        server.manage("create_simulated", CLUSTER, "--racks", "4", "--failures-per-node-day", "0", "--launch-s", "1", "--check-s", "1")
        try:
            server.start()
            yield server
        finally:
            server.stop()


@contextmanager
def database() -> Iterator[str]:
    """The URL of a database of its own beside the one that the environment names; "" where it names none: SQLite."""
    given = os.environ.get(env.DATABASE_URL, "")
    if not given.startswith("postgres"):
        yield ""
        return
    name = f"slicekeeper_e2e_{secrets.token_hex(4)}"
    with psycopg.connect(given, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield urlunsplit(urlsplit(given)._replace(path=f"/{name}"))
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
