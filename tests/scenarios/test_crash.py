"""S10: three events are committed, and the process dies after the third one's effect and before those of the first two."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from clusters.connectors.local.driver import LocalDriver
from clusters.domain.commands import RunPass, SubmitJob
from clusters.domain.events import NewEvent, Payload
from clusters.domain.inventory_events import ClusterCreated, NodeRegistered, RackRegistered
from clusters.domain.job_events import WorkStarted
from clusters.domain.jobs import JobState
from clusters.domain.state import LOCAL
from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.log import wall_now
from clusters.eventlog.request import Request
from scheduling.domain.decide import decide
from tests.contract.eventlog.playground import DATABASE_URL, Playground, playground
from tests.scenarios.crashing import program_in
from tests.support.patience import PATIENCE
from tests.support.shared import ROOT
from tests.support.world import ask

pytestmark = [pytest.mark.faults, pytest.mark.slow]

#: Seconds after which the test gives up; nothing is asserted of how long things take.
NAME = "here"


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Playground]:
    with playground(tmp_path) as made:
        yield made


@pytest.fixture
def log(ground: Playground, django_db_blocker: DjangoDbBlocker) -> Iterator[DatabaseLog]:
    with django_db_blocker.unblock(), ground.log() as log:
        yield log


@pytest.fixture
def doomed(ground: Playground, log: DatabaseLog, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The process that drives the fleet until it is killed, once it is ready."""
    payloads: list[Payload] = [ClusterCreated(name=NAME, connector=LOCAL), RackRegistered(rack="r1", block="b1", switch_trays=9)]
    payloads += [NodeRegistered(node=f"r1-n{number}", rack="r1", domain="r1", gpus=4) for number in range(1, 5)]
    log.create(NAME, [NewEvent(payload, wall_now(), "test", str(place)) for place, payload in enumerate(payloads)])
    environment = {**os.environ, DATABASE_URL: ground.url, "SLICEKEEPER_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "tests.scenarios.crashing", NAME, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert heard(process) == {"ready": True}
        yield process
        process.kill()


def heard(process: subprocess.Popen[str]) -> dict[str, object]:
    assert process.stdout is not None
    told: dict[str, object] = json.loads(process.stdout.readline())
    return told


def commit(log: DatabaseLog, command: SubmitJob | RunPass, name: str) -> None:
    log.commit(NAME, Request(command=command, source="scheduler", request_id=name), decide)


def is_alive(pid: int) -> bool:
    """Whether the process runs: one that has ended and that nobody has waited for does not."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def starts(directory: Path) -> list[tuple[str, int]]:
    """(job, process) of all work that was ever started."""
    lines = (directory / "starts").read_text().splitlines()
    return [(line.split()[0], int(line.split()[1])) for line in lines]


def test_s10_all_three_effects_are_done_and_each_is_seen_once(doomed: subprocess.Popen[str], log: DatabaseLog, tmp_path: Path) -> None:
    for number in range(3):
        commit(log, SubmitJob(request=ask(1), by="ada"), f"submit {number}")
    commit(log, RunPass(), "pass")
    with log.live(NAME).reading() as state:
        jobs = sorted(state.jobs)
        assert [state.jobs[name].state for name in jobs] == [JobState.PLACED] * 3
    assert len(list(heard(doomed)["started"])) == 1  # type: ignore[call-overload]
    assert [job for job, _ in starts(tmp_path)] == [jobs[2]], "the third effect, and no other"
    doomed.kill()
    doomed.wait()
    assert told(log) == Counter(), "it died before it told anybody"

    driver = LocalDriver(log, NAME, program_in(tmp_path))
    try:
        ends = time.monotonic() + PATIENCE
        while told(log).total() < 3 or sum(is_alive(pid) for _, pid in starts(tmp_path)) != 3:
            assert time.monotonic() < ends, f"told {told(log)}, started {starts(tmp_path)}"
            driver.turn()
        for _ in range(5):
            driver.turn()
        assert told(log) == Counter(jobs), "each start is in the log once"
        assert sorted(job for job, pid in starts(tmp_path) if is_alive(pid)) == jobs, "each job runs once"
        with log.live(NAME).reading() as state:
            assert [(state.jobs[name].state, state.jobs[name].generation) for name in jobs] == [(JobState.RUNNING, 1)] * 3
    finally:
        driver.close()


def told(log: DatabaseLog) -> Counter[str]:
    """How often the log has heard of each job that its work has started."""
    return Counter(event.payload.job for event in log.read(NAME) if isinstance(event.payload, WorkStarted))
