"""What is due when: one entry for each key, the earliest first."""

from __future__ import annotations

import heapq

from clusters.domain.ids import Instant


class Agenda:
    """A heap whose entries may be changed: those that no longer hold are skipped when they come up."""

    def __init__(self) -> None:
        self._due: dict[str, Instant] = {}
        self._heap: list[tuple[Instant, str]] = []

    def set(self, key: str, due: Instant | None) -> None:
        """Put the key's entry at `due`; None removes it."""
        if due is None:
            self._due.pop(key, None)
        elif self._due.get(key) != due:
            self._due[key] = due
            heapq.heappush(self._heap, (due, key))

    def first(self) -> Instant | None:
        """When the first entry is due."""
        while self._heap:
            due, key = self._heap[0]
            if self._due.get(key) == due:
                return due
            heapq.heappop(self._heap)
        return None

    def take(self, upto: Instant) -> list[str]:
        """Remove the entries due by `upto` and return their keys, in order of time and name."""
        keys = []
        while (due := self.first()) is not None and due <= upto:
            _, key = heapq.heappop(self._heap)
            del self._due[key]
            keys.append(key)
        return keys
