"""Signals that wait to be sent: a file of lines, bounded, and numbered so that the server knows each again.

Numbers rise by one and without a gap, through restarts, so that the server sees what is missing. They begin at the milliseconds of the
clock: an agent that has lost its files does not use one twice. At the limit the oldest signals go.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = "spool.jsonl"
LAST = "last"  # in the first line: the last number that was given
#: The file is written anew when so much of it has been sent.
COMPACT_BYTES = 256 * 1024

Wire = dict[str, Any]


class Spool:
    """Keeps signals until they are sent, through restarts."""

    def __init__(self, directory: Path, most_bytes: int) -> None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = directory / FILE
        self._most = most_bytes
        self._waiting: deque[tuple[Wire, int]] = deque()  # signal, bytes of its line
        self._size = 0
        self._gone = 0  # bytes of the file that were sent or dropped
        self.dropped = 0  # since the last time that was told
        self._last = 0  # the last number given
        self._load()
        self._last = self._last or int(time.time() * 1000)
        self._file = self._path.open("ab")
        self._rewrite()  # without what a crash cut off: the next line would be joined to it

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, signal: Mapping[str, Any]) -> None:
        """Number a signal and keep it."""
        self._last += 1
        numbered = {**signal, "seq": self._last}
        line = json.dumps(numbered, separators=(",", ":")).encode() + b"\n"
        self._file.write(line)
        self._waiting.append((numbered, len(line)))
        self._size += len(line)
        while self._size > self._most and len(self._waiting) > 1:
            self._forget()
            self.dropped += 1
        self._file.flush()
        self._compact()

    def first(self, count: int, most_bytes: int) -> list[Wire]:
        """The oldest ones that fit into one request."""
        batch: list[Wire] = []
        size = 0
        for signal, length in self._waiting:
            size += length
            if len(batch) == count or (size > most_bytes and batch):
                break
            batch.append(signal)
        return batch

    def done(self, count: int) -> None:
        """So many of the oldest have been dealt with."""
        for _ in range(count):
            self._forget()
        self._compact()

    def remove(self, numbers: set[int]) -> None:
        """These will never be taken."""
        kept = [(signal, length) for signal, length in self._waiting if signal["seq"] not in numbers]
        self._gone += self._size - sum(length for _, length in kept)
        self._waiting = deque(kept)
        self._size = sum(length for _, length in kept)
        self._compact()

    def close(self) -> None:
        """Let go of the file; what waits stays in it."""
        self._rewrite()
        self._file.close()

    def _forget(self) -> None:
        _, length = self._waiting.popleft()
        self._size -= length
        self._gone += length

    def _compact(self) -> None:
        if self._gone > COMPACT_BYTES:
            self._rewrite()

    def _rewrite(self) -> None:
        """Replace the file by what waits; a crash leaves the old one, and the server knows what it has seen."""
        fresh = self._path.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(json.dumps({LAST: self._last}).encode() + b"\n")
            for signal, _ in self._waiting:
                file.write(json.dumps(signal, separators=(",", ":")).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
        self._file.close()
        self._file = self._path.open("ab")
        self._gone = 0

    def _load(self) -> None:
        """What an agent before has left; a line cut off by a crash is passed over."""
        try:
            lines = self._path.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return
        for line in lines:
            try:
                kept = json.loads(line)
            except ValueError:
                continue
            number = kept.get("seq", kept.get(LAST)) if isinstance(kept, dict) else None
            if not isinstance(number, int):
                continue
            self._last = max(self._last, number)
            if LAST not in kept:
                self._waiting.append((kept, len(line)))
                self._size += len(line)
