"""Everything that production runs, as real processes on PostgreSQL and Redis: started, driven, killed, started again, stopped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from http.client import HTTPConnection
from typing import Any

import pytest
import redis

from config.parts import asked
from tests.production.conftest import Installation
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.production, pytest.mark.postgres, pytest.mark.slow]

SUBMIT = (
    "from clusters.eventlog.correlation import correlated; from clusters.domain.jobs import JobKind, JobRequest;"
    "from scheduling.services import job_submit\n"
    "with correlated('order-66'): "
    "print(job_submit(cluster='{cluster}', request=JobRequest(name='a', kind=JobKind.BATCH, nodes=32), by='ada'))"
)


def until(condition: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > end:
            pytest.fail(f"waited for {what} in vain")
        time.sleep(0.1)
    return found


def metric(port: int, line: str) -> float | None:
    """The value of a metric, as the web process at this port shows it."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return next((float(found.rpartition(" ")[2]) for found in text.splitlines() if found.startswith(line + " ")), None)


def shows(port: int, line: str, value: float) -> bool:
    return metric(port, line) == value


@pytest.fixture(scope="module")
def running(installation: Installation) -> Installation:
    installation.services("start")
    return installation


def test_all_parts_run_and_starting_them_again_changes_nothing(running: Installation) -> None:
    before = {part.name: running.place.running(part.name) for part in running.parts}
    assert None not in before.values()
    said = running.services("start")
    assert said.count("runs already") >= len(before)
    assert {part.name: running.place.running(part.name) for part in running.parts} == before
    assert running.services("status").count("process ") == len(before)
    for port in running.ports:
        told = asked(port)
        assert told is not None
        assert (told["ready"], told["reasons"], told["warnings"]) == (True, [], [])


def test_deployment_checks_are_clean(running: Installation) -> None:
    behind_https = Installation(environ={**running.environ, "SLICEKEEPER_HTTPS": "on"}, ports=running.ports, place=running.place)
    behind_https.environ["SLICEKEEPER_SECRET_KEY"] = "4kq9vX-zN2mTgYw7cRhB5sJd_8LpFeUaQ1oI3xWbE6nCtMrV0yGZ"
    assert "no issues" in behind_https.manage("check", "--deploy", "--fail-level", "WARNING")


def test_what_one_process_writes_others_place_and_every_web_process_shows(running: Installation) -> None:
    running.manage("create_simulated", "shared", "--racks", "2", "--failures-per-node-day", "0", "--launch-s", "1", "--speed", "1")
    running.manage("shell", "--no-imports", "-c", SUBMIT.format(cluster="shared"))
    for port in running.ports:
        until(partial(shows, port, 'slicekeeper_jobs{cluster="shared",state="running"}', 1), "a running job")
        assert metric(port, 'slicekeeper_nodes_use{cluster="shared",use="allocated"}') == 32
        assert metric(port, 'slicekeeper_nodes_use{cluster="shared",use="spare"}') == 4
        until(partial(shows, port, 'slicekeeper_projection_lag_events{cluster="shared",projection="jobs"}', 0), "lists that have caught up")
    show = (
        "from clusters.eventlog.store import default_log;"
        "print({event.kind: event.correlation for event in default_log().read('shared') if event.correlation})"
    )
    assert "{'JobSubmitted': 'order-66', 'JobPlaced': 'order-66'}" in running.manage("shell", "--no-imports", "-c", show)


def test_a_killed_worker_is_noticed_by_its_lock_and_started_again(running: Installation) -> None:
    pid = running.place.running("worker-pass")
    assert pid is not None
    os.killpg(pid, signal.SIGKILL)
    until(lambda: running.place.running("worker-pass") is None, "the lock of a dead worker")
    assert "worker-pass: started" in running.run(sys.executable, "-m", "config.parts", "start")
    new = running.place.running("worker-pass")
    assert new not in (None, pid)


def test_everything_goes_on_when_the_database_drops_its_connections_and_the_broker_its_messages(running: Installation) -> None:
    drop = (
        "from django.db import connection as c; k = c.cursor();"
        "k.execute('select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()')"
    )
    running.manage("shell", "--no-imports", "-c", drop)
    redis.Redis.from_url(running.environ["SLICEKEEPER_REDIS_URL"]).flushdb()
    running.manage("create_simulated", "after", "--racks", "2", "--failures-per-node-day", "0", "--launch-s", "1", "--speed", "1")
    running.manage("shell", "--no-imports", "-c", SUBMIT.format(cluster="after"))
    for port in running.ports:
        until(partial(shows, port, 'slicekeeper_jobs{cluster="after",state="running"}', 1), "a running job")
    running.run(sys.executable, "-m", "config.parts", "start")  # waits until nothing is left to warn of


def test_workers_keep_a_connection_each_and_no_pool(running: Installation) -> None:
    """A pool would not survive the fork, and connecting for each task would cost more than the task."""
    look = (
        "from django.db import connection as c; k = c.cursor();"
        "k.execute('select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()');"
        "print(*k.fetchone())"
    )
    least = 2 + 2 + 3  # of both webs, of both workers, and of the tail, the list of fleets and one fleet
    assert least <= int(running.manage("shell", "--no-imports", "-c", look)) <= least + 2 * 9 + 2


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium")
def test_the_browser_path_over_two_web_processes(running: Installation) -> None:
    running.manage(
        "create_simulated", "quiet", "--racks", "4", "--failures-per-node-day", "0", "--launch-s", "1", "--check-s", "1", "--speed", "1"
    )
    driven = Installation(environ={**running.environ, "E2E_URLS": running.urls}, ports=running.ports, place=running.place)
    said = driven.run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/e2e/test_first_light.py")
    assert "1 passed" in said
    running.manage("replay", "--cluster", "quiet", "--verify")
    for port in running.ports:
        assert (metric(port, "slicekeeper_hub_frames_sent_total") or 0) > 0


def test_every_line_of_every_part_is_json_without_secrets(running: Installation) -> None:
    lines = [line for line in running.logs().splitlines() if line.startswith("{")]
    assert len(lines) > len(running.parts)
    levels = {json.loads(line)["level"] for line in lines}
    assert "CRITICAL" not in levels
    assert running.environ["SLICEKEEPER_SECRET_KEY"] not in running.logs()
    assert "slicekeeper:slicekeeper@" not in running.logs()


def test_stopping_leaves_nothing_behind_and_may_be_repeated(running: Installation) -> None:
    pids = [running.place.running(part.name) for part in running.parts]
    assert running.services("stop").count(": stopped") == len(pids)
    assert [running.place.running(part.name) for part in running.parts] == [None] * len(pids)
    assert running.services("stop").count("did not run") == len(pids)
    assert [asked(port) for port in running.ports] == [None, None]
