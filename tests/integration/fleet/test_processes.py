"""A fleet whose process is killed, or paused past its lease: the next one goes on, and nothing happens twice."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connections
from pytest_django import DjangoDbBlocker

from clusters.domain.job_events import JobSubmitted
from clusters.domain.jobs import JobState
from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.verify import verify
from scheduling.domain.decide import decide
from tests.contract.eventlog.playground import DATABASE_URL, Playground, playground
from tests.support.faults import rounds
from tests.support.patience import PATIENCE
from tests.support.shared import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.faults]

NAME = "killed"
JOBS = 100
WAIT_SECONDS = 5 * PATIENCE  # a lease runs out, and servers start

Server = subprocess.Popen[bytes]
Watcher = subprocess.Popen[str]


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Playground]:
    with playground(tmp_path) as made:
        yield made


@pytest.fixture
def log(ground: Playground, django_db_blocker: DjangoDbBlocker) -> Iterator[DatabaseLog]:
    with django_db_blocker.unblock(), ground.log() as log:
        yield log


@pytest.fixture
def serve(ground: Playground, tmp_path: Path) -> Iterator[Callable[[], Server]]:
    """Starts servers on the playground's database."""
    started: list[Server] = []

    def start() -> Server:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SLICEKEEPER_")}
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        environment = {**kept, DATABASE_URL: ground.url, "SLICEKEEPER_DATA_DIR": str(tmp_path), "PORT": str(port)}
        with (tmp_path / f"server{len(started)}.log").open("wb") as output:
            command = [sys.executable, "manage.py", "serve"]
            started.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT))
        return started[-1]

    yield start
    for server in started:
        server.kill()
        server.wait()


def until(log: DatabaseLog, holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not happen within {WAIT_SECONDS:.0f} s; the log has {log.head(NAME)} events"
        time.sleep(0.05)


def pause_between_writes(server: Server) -> None:
    """Stop the process at a moment at which it holds no lock of the database: one that does holds all others up, or is cut off."""
    deadline = time.monotonic() + WAIT_SECONDS
    server.send_signal(signal.SIGSTOP)
    while not others_can_write():
        assert time.monotonic() < deadline, "the server was in a transaction each time"
        server.send_signal(signal.SIGCONT)
        time.sleep(0.05)
        server.send_signal(signal.SIGSTOP)


def others_can_write() -> bool:
    time.sleep(0.3)  # for what was asked just before the process was stopped
    with connections["playground"].cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'"
        )
        return bool(cursor.fetchone() == (0,))


def ended(log: DatabaseLog) -> int:
    with log.live(NAME).reading() as state:
        return sum(state.tally.get(outcome.value, 0) for outcome in (JobState.FINISHED, JobState.FAILED, JobState.CANCELLED))


def prove(log: DatabaseLog) -> None:
    """Every job came once and ended; nothing of the log contradicts itself."""
    arrivals = Counter(event.payload.arrival for event in log.read(NAME) if isinstance(event.payload, JobSubmitted))
    assert len(arrivals) == JOBS
    assert set(arrivals.values()) == {1}
    report = verify(log, NAME, decide)
    assert report.differences == []


@pytest.fixture
def play(ground: Playground, tmp_path: Path) -> Iterator[Callable[[int], Watcher]]:
    """Plays, at a speed, a trace of some seven cluster hours on two racks whose nodes fail all the time; watches it."""
    started: list[Watcher] = []

    def play(speed: int) -> Watcher:
        ground.manage("create_simulated", NAME, "--racks", "2", "--failure-scale", "100", "--seed", "4")
        file = tmp_path / "trace.csv"
        rows = [f"{number * 240},{300 + number * 97 % 1500},{1 + number * 13 % 40},team" for number in range(JOBS)]
        file.write_text("\n".join(["submit_s,duration_s,gpus,vc", *rows]), encoding="utf-8")
        environment = {**os.environ, DATABASE_URL: ground.url, "SLICEKEEPER_DATA_DIR": str(tmp_path)}
        command = [sys.executable, "manage.py", "submit_trace", str(file), "--cluster", NAME, "--speed", str(speed)]
        started.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield play
    for watcher in started:
        watcher.kill()
        watcher.communicate()


def test_a_server_killed_again_and_again_plays_the_trace_to_its_end_once(
    log: DatabaseLog, serve: Callable[[], Server], play: Callable[[int], Watcher]
) -> None:
    watcher = play(3600)
    server = serve()
    until(log, lambda: ended(log) > 5, "the first jobs")
    for number in range(rounds(2, 10)):
        server.kill()
        server.wait()
        server = serve()
        goal = ended(log) + JOBS // 15
        until(log, lambda goal=goal: ended(log) > goal, f"progress after kill {number}")  # type: ignore[misc]
    said, complaint = watcher.communicate(timeout=WAIT_SECONDS)
    assert watcher.returncode == 0, complaint
    assert f"{JOBS} jobs in" in said
    prove(log)


def test_r23_a_driver_paused_past_its_lease_is_refused_when_it_wakes(
    log: DatabaseLog, serve: Callable[[], Server], play: Callable[[int], Watcher], tmp_path: Path
) -> None:
    """R23, F11: the first server is stopped, the second takes the fleet over, the first goes on as if nothing had happened."""
    if connections["default"].vendor == "sqlite":
        pytest.skip("a server has a SQLite database to itself")
    watcher = play(3600)
    first = serve()
    until(log, lambda: ended(log) > 5, "the first jobs")
    pause_between_writes(first)
    serve()
    before = log.head(NAME)
    until(log, lambda: log.head(NAME) > before + 50, "the second server driving the fleet")
    first.send_signal(signal.SIGCONT)
    watcher.communicate(timeout=WAIT_SECONDS)
    prove(log)
    assert "another process drives the fleet" in (tmp_path / "server0.log").read_text(encoding="utf-8")
