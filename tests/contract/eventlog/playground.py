"""A database of its own, of the kind this run is on, and processes that work on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

import psycopg
from django.db import connections

from clusters.eventlog.database import DatabaseLog
from config.database import connection_settings
from tests.support.patience import PATIENCE
from tests.support.shared import ROOT

DATABASE_URL = "SLICEKEEPER_DATABASE_URL"


class Process:
    """A worker that has been started."""

    def __init__(self, environment: dict[str, str], arguments: tuple[str, ...]) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "tests.contract.eventlog.workers", *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def line(self) -> dict[str, Any]:
        """The next thing it says."""
        assert self.popen.stdout is not None
        text = self.popen.stdout.readline()
        assert text, self._complaint()
        told: dict[str, Any] = json.loads(text)
        return told

    def rest(self) -> list[dict[str, Any]]:
        """Everything it still says; it must end well."""
        out, err = self.popen.communicate(timeout=600)
        assert self.popen.returncode == 0, err
        return [json.loads(text) for text in out.splitlines()]

    def kill(self) -> list[dict[str, Any]]:
        """Kill it without warning; what it said until then, but for a line cut short."""
        self.popen.kill()
        out, _ = self.popen.communicate(timeout=PATIENCE)
        return [json.loads(text) for text in out.splitlines(keepends=True) if text.endswith("\n")]

    def _complaint(self) -> str:
        assert self.popen.stderr is not None
        return f"the process ended: {self.popen.stderr.read()}"


class Playground:
    """Starts workers on one database."""

    def __init__(self, url: str, directory: Path) -> None:
        self.url = url
        self._environment = {**os.environ, DATABASE_URL: url, "SLICEKEEPER_DATA_DIR": str(directory)}
        self._gates = directory
        self._started: list[Process] = []

    @contextmanager
    def log(self) -> Iterator[DatabaseLog]:
        """The log as this process sees it, over a connection of its own beside the one of the test database."""
        alias = "playground"
        connections.settings[alias] = {**connections["default"].settings_dict, **connection_settings(self.url)}
        try:
            yield DatabaseLog(alias)
        finally:
            connections[alias].close()
            del connections[alias]
            del connections.settings[alias]

    def start(self, *arguments: object, **environment: str) -> Process:
        process = Process({**self._environment, **environment}, tuple(map(str, arguments)))
        self._started.append(process)
        return process

    def end(self) -> None:
        """Leave no process behind, also where a test failed before it had heard all."""
        for process in self._started:
            if process.popen.stdout is not None and not process.popen.stdout.closed:
                process.kill()

    def gate(self, name: str) -> Path:
        """A file whose appearance lets processes begin together."""
        return self._gates / name

    def together(self, gate: Path, processes: list[Process]) -> None:
        """Let all begin once each is ready."""
        for process in processes:
            assert process.line() == {"ready": True}
        gate.touch()

    def manage(self, *arguments: str) -> str:
        """Run a management command to its end."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments], cwd=ROOT, env=self._environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def playground(directory: Path, url: str | None = None) -> Iterator[Playground]:
    """A migrated database that is gone afterwards: on the server of this run, or of the URL."""
    with _database(directory, urlsplit(url or os.environ.get(DATABASE_URL, ""))) as own_url:
        ground = Playground(own_url, directory)
        ground.manage("migrate", "--verbosity", "0")
        try:
            yield ground
        finally:
            ground.end()


@contextmanager
def _database(directory: Path, configured: SplitResult) -> Iterator[str]:
    if configured.scheme not in {"postgres", "postgresql"}:
        yield f"sqlite:///{directory / 'playground.sqlite3'}"
        return
    name = f"{configured.path[1:]}_playground_{os.getpid()}"
    server = urlunsplit(configured._replace(scheme="postgresql", path="/postgres", query=""))
    _execute(server, f'CREATE DATABASE "{name}"')
    try:
        yield urlunsplit(configured._replace(path=f"/{name}", query="pool=0"))
    finally:
        _execute(server, f'DROP DATABASE "{name}" WITH (FORCE)')


def _execute(server: str, statement: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(statement.encode())
