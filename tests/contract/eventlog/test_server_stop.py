"""R01, F04: a PostgreSQL server that is stopped without warning loses nothing that was acknowledged. The server is this test's own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from clusters.eventlog.database import DatabaseLog
from tests.contract.eventlog.playground import playground
from tests.contract.eventlog.toy import CLUSTER, create, suspicion
from tests.contract.eventlog.workers import batch_of
from tests.support.faults import rounds
from tests.support.shared import lacking

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.postgres]

ROOT_UID = 0


class Server:
    """A PostgreSQL server in a directory."""

    def __init__(self, binaries: Path, directory: Path) -> None:
        self._binaries = binaries
        self._data = directory / "data"
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._run("initdb", "--auth=trust", "--username=postgres", "--no-sync", "-D", self._data)

    @property
    def url(self) -> str:
        return f"postgres://postgres@127.0.0.1:{self._port}/stopped"

    def start(self) -> None:
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._data}"
        self._run("pg_ctl", "start", "--wait", "-D", self._data, "-o", options, "-l", self._data / "log")

    def stop(self, mode: str) -> None:
        self._run("pg_ctl", "stop", "--wait", "-D", self._data, "-m", mode)

    def _run(self, program: str, *arguments: object) -> None:
        # PostgreSQL refuses to run as root
        user = ["runuser", "-u", "postgres", "--"] if os.getuid() == ROOT_UID else []
        command = [*user, str(self._binaries / program), *map(str, arguments)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")


@pytest.fixture
def server() -> Iterator[Server]:
    if connection.vendor != "postgresql":
        pytest.skip("this run is not on PostgreSQL")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [Path(shutil.which("initdb") or "")]
    if not found[-1].is_file():
        lacking("the programs of a PostgreSQL server are not installed")
    directory = Path(tempfile.mkdtemp(prefix="eventlog-server-"))
    if os.getuid() == ROOT_UID:
        shutil.chown(directory, "postgres")
    made = Server(found[-1].parent, directory)
    made.start()
    try:
        yield made
    finally:
        with suppress(subprocess.CalledProcessError):
            made.stop("fast")
        shutil.rmtree(directory)


def _sent(log: DatabaseLog) -> list[str]:
    return [event.source_id for event in log.read(CLUSTER) if event.source == "writer"]


@pytest.mark.parametrize("mode", ["immediate", "fast"])
def test_r01_f04_a_server_stopped_while_appending_has_what_it_acknowledged(
    server: Server, tmp_path: Path, django_db_blocker: DjangoDbBlocker, mode: str
) -> None:
    size, acknowledged = 50, 0
    with django_db_blocker.unblock(), playground(tmp_path, server.url) as ground:
        with ground.log() as log:
            create(log)
        gate = ground.gate("open")
        gate.touch()
        for _ in range(rounds(1, 10)):
            process = ground.start("append", CLUSTER, "writer", gate, size, 1_000_000)
            assert process.line() == {"ready": True}
            first = process.line()  # it is at work
            time.sleep(0.3)
            server.stop(mode)
            told = [first, *process.kill()]
            server.start()
            acknowledged = max(acknowledged, told[-1]["batch"] + 1)
            with ground.log() as log:
                stored = _sent(log)
                assert stored == [fact.source_id for batch in range(len(stored) // size) for fact in batch_of("writer", batch, size)]
                assert len(stored) // size in (acknowledged, acknowledged + 1)
                assert [event.seq for event in log.read(CLUSTER)] == list(range(1, log.head(CLUSTER) + 1))
                log.append_facts(CLUSTER, [suspicion(acknowledged, source="after")])
