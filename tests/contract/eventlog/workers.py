"""What the processes do that the tests of several processes start: `python -m tests.contract.eventlog.workers VERB ...`.

Each prints one JSON line whenever something is acknowledged, and may be killed at any time.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from clusters.domain.commands import CancelJob, Command, RunPass, SubmitJob  # noqa: E402 - Django is set up first
from clusters.domain.decision import Decision, Refusal  # noqa: E402
from clusters.domain.ids import Instant  # noqa: E402
from clusters.domain.job_events import JobFinished  # noqa: E402
from clusters.domain.jobs import ACTIVE  # noqa: E402
from clusters.domain.state import ClusterState  # noqa: E402
from clusters.eventlog import database  # noqa: E402
from clusters.eventlog.claims import Change  # noqa: E402
from clusters.eventlog.database import DatabaseLog  # noqa: E402
from clusters.eventlog.request import Request  # noqa: E402
from clusters.eventlog.state_codec import pack  # noqa: E402
from tests.contract.eventlog.toy import ask, decide, fact, stopped, suspicion  # noqa: E402


def tell(**values: Any) -> None:
    """One line, at once."""
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def wait_for(gate: str) -> None:
    """Say that this process is ready, then wait for the others: the gate opens when its file appears."""
    tell(ready=True)
    while not Path(gate).exists():
        time.sleep(0.002)


def batch_of(writer: str, number: int, size: int) -> list[Any]:
    """The facts of one batch: a retry makes the same ones."""
    return [suspicion(number * size + place, source=writer) for place in range(size)]


class RolledBack(Exception):
    """Thrown into a transaction after its events were inserted."""


def append(cluster: str, writer: str, gate: str, size: str, batches: str, delay_ms: str = "0", rolled_back: str = "0") -> None:
    """Append batches, some of which are rolled back first and then sent again."""
    draw = random.Random(writer)
    give_back = database._DatabaseWriter.change_claims

    def unsteady(self: database._DatabaseWriter, changes: Iterable[Change]) -> None:
        give_back(self, changes)
        time.sleep(draw.random() * float(delay_ms) / 1000)
        if draw.random() < float(rolled_back):
            raise RolledBack

    database._DatabaseWriter.change_claims = unsteady  # type: ignore[method-assign]
    log = DatabaseLog()
    wait_for(gate)
    for number in range(int(batches)):
        facts = batch_of(writer, number, int(size))
        while True:
            try:
                receipts = log.append_facts(cluster, facts)
                break
            except RolledBack:
                continue
        tell(batch=number, first=receipts[0].seq, duplicate=receipts[0].duplicate)


def tail(cluster: str, gate: str, after: str, count: str) -> None:
    """Follow the log by its head until so many events were read; say what was read."""
    log = DatabaseLog()
    wait_for(gate)
    seen = int(after)
    ids: set[tuple[str, str]] = set()
    gapless = True
    while len(ids) < int(count):
        time.sleep(0.001)
        for event in log.read(cluster, seen):
            gapless = gapless and event.seq == seen + 1
            seen = event.seq
            ids.add((event.source, event.source_id))
    tell(seen=seen, distinct=len(ids), gapless=gapless)


def cancel(cluster: str, name: str, gate: str, job: str) -> None:
    """Cancel one job."""
    log = DatabaseLog()
    log.live(cluster).catch_up()
    wait_for(gate)
    outcome = log.commit(cluster, Request(command=CancelJob(job=job, by=name), source=f"user:{name}", request_id="cancel"), decide)
    tell(refused=isinstance(outcome, Refusal))


def submit(cluster: str, name: str, gate: str) -> None:
    """Send the same request as others do, under the same id."""
    log = DatabaseLog()
    wait_for(gate)
    outcome = log.commit(cluster, Request(command=SubmitJob(request=ask(), by="ada"), source="user:ada", request_id="once"), decide)
    assert not isinstance(outcome, Refusal)
    tell(seq=outcome.events[0].seq, duplicate=outcome.duplicate)


def schedule(cluster: str, name: str, gate: str, decisions: str) -> None:
    """Submit, place and finish jobs without end, as many decisions as told."""
    log = DatabaseLog()
    wait_for(gate)
    made = 0
    while made < int(decisions):
        made += _one_turn(log, cluster, name, made)
        tell(made=made)


def _one_turn(log: DatabaseLog, cluster: str, name: str, turn: int) -> int:
    request = Request(command=SubmitJob(request=ask(1 + turn % 3), by=name), source=f"user:{name}", request_id=str(turn))
    made = int(not isinstance(log.commit(cluster, request, decide), Refusal))
    placed = log.commit(cluster, Request(command=RunPass(), source="scheduler", request_id=None), decide)
    if not isinstance(placed, Refusal) and placed.events:
        return made + 1
    with log.live(cluster).reading() as state:
        running = [(job.id, job.generation, tuple(job.held_nodes)) for job in state.jobs.values() if job.state in ACTIVE]
    for job, generation, nodes in running[: 1 + len(running) // 2]:
        end = fact(JobFinished(job=job, generation=generation), f"end {job}", source="connector")
        log.append_facts(cluster, [end, stopped(job, nodes, f"stop {job}", generation)])
    return made


def doze(cluster: str, gate: str, decisions: str) -> None:
    """Submit jobs, and fall asleep each time while deciding, until woken. Say on which positions it was decided."""
    log = DatabaseLog()
    wait_for(gate)
    for number in range(int(decisions)):
        asked: list[int] = []

        def slowly(state: ClusterState, command: Command, now: Instant, asked: list[int] = asked) -> Decision | Refusal:
            asked.append(state.seq)
            if len(asked) == 1:
                os.kill(os.getpid(), signal.SIGSTOP)
            return decide(state, command, now)

        request = Request(command=SubmitJob(request=ask(), by="dozer"), source="user:dozer", request_id=str(number))
        assert not isinstance(log.commit(cluster, request, slowly), Refusal)
        tell(decided_on=asked)


def digest(cluster: str) -> None:
    """The state as this process folds it: from the beginning, from the latest snapshot, and live."""
    whole, later = DatabaseLog(), DatabaseLog()
    whole.load_snapshot = lambda cluster, upto=None: None  # type: ignore[method-assign]
    tell(whole=_checksum(whole, cluster), later=_checksum(later, cluster), snapshot=later.snapshot_seq(cluster))


def _checksum(log: DatabaseLog, cluster: str) -> str:
    with log.live(cluster).reading() as state:
        return pack(state).checksum.hex()


VERBS: dict[str, Callable[..., None]] = {verb.__name__: verb for verb in (append, tail, cancel, submit, schedule, doze, digest)}

if __name__ == "__main__":
    VERBS[sys.argv[1]](*sys.argv[2:])
