"""Appending with de-duplication, against `bulk_create` of the same rows, and against the disk itself.

Both sides start from facts and end durable; `bulk_create` gets its rows encoded and digested by the same code.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from django.db import connections, transaction
from django.db.models import QuerySet

from clusters.domain.events import NewEvent
from clusters.domain.job_events import WorkStarted
from clusters.eventlog.database import DatabaseLog, row_of
from clusters.eventlog.facts import number_facts
from clusters.eventlog.models import LogEvent
from clusters.eventlog.sql import EVENT_COLUMNS
from tests.bench.harness import Row, alternating_rates, rate_row, table
from tests.contract.eventlog.toy import opening, submit

pytestmark = pytest.mark.bench

SECONDS = 4.0  # of each line
SYNC_BYTES = 8_192  # of the floor's write: what a small append puts on the disk

_FIELDS = EVENT_COLUMNS.split(", ")


class Source:
    """Facts without end, about 150 bytes each."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def take(self, count: int) -> tuple[list[NewEvent]]:
        return ([self._fact(number) for number in itertools.islice(self._numbers, count)],)

    def _fact(self, number: int) -> NewEvent:
        nodes = tuple(f"r{number % 128:03d}-n{node:02d}" for node in range(4))
        payload = WorkStarted(job=f"j{number:06d}", generation=1, nodes=nodes)
        return NewEvent(payload, 1_900_000_000_000_000 + number, "fleet", f"start/j{number:06d}/1")


def _appending(log: DatabaseLog, name: str) -> Callable[[Sequence[NewEvent]], object]:
    log.create(name, opening(name))
    return lambda facts: log.append_facts(name, facts)


def _bulk_creating(log: DatabaseLog, name: str) -> Callable[[Sequence[NewEvent]], object]:
    log.create(name, opening(name))
    writable: QuerySet[LogEvent] = QuerySet(LogEvent, using=log.alias)  # the model's own manager only reads

    def work(facts: Sequence[NewEvent]) -> None:
        cluster_id, position = log.locate(name)
        events = number_facts(facts, position.head + 1, 0)
        rows = [LogEvent(**dict(zip(_FIELDS, row_of(cluster_id, event), strict=True))) for event in events]
        with transaction.atomic(using=log.alias), connections[log.alias].cursor() as cursor:
            writable.bulk_create(rows)
            cursor.execute("UPDATE clusters_loghead SET seq = %s WHERE cluster_id = %s", (events[-1].seq, cluster_id))

    return work


def _syncing(directory: Path) -> Callable[..., object]:
    descriptor = os.open(directory / "floor", os.O_CREAT | os.O_WRONLY)

    def work(*_: object) -> None:
        os.write(descriptor, bytes(SYNC_BYTES))
        os.fdatasync(descriptor)

    return work


def _batches(log: DatabaseLog) -> list[Row]:
    rows = []
    for size in (100, 1_000, 10_000):
        works = (_appending(log, f"ours{size}"), _bulk_creating(log, f"floor{size}"))
        source = Source()
        ours, floor = alternating_rates(size, SECONDS, *works, prepare=lambda source=source, size=size: source.take(size))  # type: ignore[misc]
        rows.append(rate_row(f"facts, {size:,} at a time", ours, floor, "bulk_create"))
    return rows


def test_append(log: DatabaseLog, tmp_path: Path) -> None:
    disk, one, new = _syncing(tmp_path), Source(), Source()
    works = (_appending(log, "ours1"), _bulk_creating(log, "floor1"), disk)
    ours, bulk, sync = alternating_rates(1, SECONDS, *works, prepare=lambda: one.take(1))
    rows = [
        rate_row("one fact at a time, durable", ours, sync, "fdatasync"),
        rate_row("one fact at a time, durable", ours, bulk, "bulk_create"),
        *_batches(log),
    ]
    (known,) = Source().take(1_000)
    absorbing, adding = _appending(log, "known"), _appending(log, "new")
    absorbed, added = alternating_rates(1_000, SECONDS, lambda facts: absorbing(known), adding, prepare=lambda: new.take(1_000))
    rows.append(rate_row("facts that are there already, 1,000 at a time", absorbed, added, "new facts"))
    numbers = itertools.count()
    log.create("decided", opening("decided"))
    ours, sync = alternating_rates(1, SECONDS, lambda: submit(log, f"r{next(numbers)}", cluster="decided"), disk)
    rows.append(rate_row("decisions, durable", ours, sync, "fdatasync"))
    table(f"append, {connections[log.alias].vendor}: median rates of {SECONDS:.0f} s, taking turns", rows)
