"""Logs as earlier versions wrote them, to be replayed by every later one; named after the ENGINE_VERSION that decided.

Add one with each release, of a cluster in which much has happened: `python -m tests.contract.eventlog.histories CLUSTER NAME`, with the
environment of the installation that has it, writes NAME.jsonl.gz here. What is there is never changed.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clusters.domain.decision import DecisionRecord
from clusters.domain.events import Event
from clusters.eventlog.claims import Gpu
from clusters.eventlog.codec import audit_rows, decode_record, decode_rows
from clusters.eventlog.storage import Audited, StoredSnapshot

DIRECTORY = Path(__file__).parent
ENDING = ".jsonl.gz"
NAMES = sorted(path.name.removesuffix(ENDING) for path in DIRECTORY.glob(f"*{ENDING}"))


class History:
    """A recorded log, as far as a replay reads one."""

    def __init__(self, name: str) -> None:
        with gzip.open(DIRECTORY / f"{name}{ENDING}", "rt", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self._events: list[Any] = [line["event"] for line in lines if "event" in line]
        self._decisions: list[Any] = [line["decision"] for line in lines if "decision" in line]
        self._claims: list[Any] = [line["claim"] for line in lines if "claim" in line]

    def __len__(self) -> int:
        return len(self._events)

    def read(self, _cluster: str, after: int = 0) -> Iterator[Event]:
        return decode_rows(tuple(row[:-1]) for row in self._events[after:])

    def audit(self, _cluster: str, after: int = 0) -> Iterator[Audited]:
        return audit_rows((*row[:-1], bytes.fromhex(row[-1])) for row in self._events[after:])

    def decisions(self, _cluster: str, after: int = 0) -> Iterator[tuple[int, int, DecisionRecord]]:
        return ((first, count, decode_record(text)) for first, count, text in self._decisions if first > after)

    def claims(self, _cluster: str) -> dict[Gpu, tuple[str, int]]:
        return {(node, gpu): (job, generation) for node, gpu, job, generation in self._claims}

    def snapshots(self, _cluster: str) -> Iterator[StoredSnapshot]:
        return iter(())

    @contextmanager
    def held(self, _cluster: str) -> Iterator[None]:
        yield
