"""The parts of an installation as separate processes, with a database, a broker's number, ports and a directory of their own."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
import redis

from config import env
from config.parts import Part, Place, parts, stop
from tests.support.shared import ROOT, lacking

#: The number of Redis' database that only these tests use.
REDIS_NUMBER = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What `make services` starts, elsewhere."""

    environ: dict[str, str]
    ports: tuple[int, int]
    place: Place

    @property
    def parts(self) -> list[Part]:
        return parts(self.ports)

    @property
    def urls(self) -> str:
        return " ".join(f"http://127.0.0.1:{port}" for port in self.ports)

    def run(self, *command: str) -> str:
        """Run a command in the environment of the installation; what it printed."""
        ran = subprocess.run(command, cwd=ROOT, env=self.environ, capture_output=True, text=True, timeout=300, check=False)
        if ran.returncode:
            pytest.fail(f"{' '.join(command)} failed:\n{ran.stdout}\n{ran.stderr}")
        return ran.stdout

    def manage(self, *arguments: str) -> str:
        return self.run(sys.executable, "manage.py", *arguments)

    def services(self, what: str) -> str:
        return self.run("bash", "scripts/services.sh", what)

    def logs(self) -> str:
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.place.directory.glob("*.log")))


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    database, broker = os.environ.get(env.DATABASE_URL, ""), os.environ.get(env.REDIS_URL, "")
    if not database.startswith("postgres") or not broker:
        lacking(f"{env.DATABASE_URL} and {env.REDIS_URL} are not set; see scripts/services.env")
    directory = tmp_path_factory.mktemp("installation")
    name = f"slicekeeper_parts_{secrets.token_hex(4)}"
    own_broker = urlunsplit(urlsplit(broker)._replace(path=f"/{REDIS_NUMBER}"))
    with ExitStack() as stack:
        free = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        ports = (free[0].getsockname()[1], free[1].getsockname()[1])
    with psycopg.connect(urlunsplit(urlsplit(database)._replace(query="")), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        redis.Redis.from_url(own_broker).flushdb()
        found = Installation(
            ports=ports,
            place=Place(directory / "parts"),
            environ={
                **os.environ,
                env.DATA_DIR: str(directory),
                env.DATABASE_URL: urlunsplit(urlsplit(database)._replace(path=f"/{name}")),
                env.REDIS_URL: own_broker,
                env.LOG_FORMAT: "json",
                "WEB_PORTS": f"{ports[0]} {ports[1]}",
            },
        )
        try:
            yield found
        finally:
            stop(found.place, found.parts)
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
