"""The state of a cluster in this process: a fold that follows its log.

The fold changes the state in place, so whoever reads it holds `lock`. It stops, and stays true to the position it reached, at the first
event that this version does not know; it starts anew when the log has been replaced, or when a fold failed half-way.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from clusters.domain.errors import BrokenInvariant, UnknownEvent
from clusters.domain.events import Event
from clusters.domain.evolve import evolve
from clusters.domain.state import ClusterState
from clusters.eventlog.storage import Position


class Followed(Protocol):
    """What a follower needs of a log."""

    def position(self, cluster: str) -> Position:
        """Where the log stands; raises UnknownCluster."""

    def tail(self, position: Position, after: int) -> Iterator[Event]:
        """Events after a position up to where the log was just told to stand."""

    def load_snapshot(self, cluster: str) -> ClusterState | None:
        """A state to start from."""


class LiveCluster:
    """One cluster's state. Lock order: this lock, then the log's; never the other way round."""

    def __init__(self, log: Followed, name: str) -> None:
        self.name = name
        self.lock = threading.RLock()
        self._log = log
        self._state: ClusterState | None = None
        self._epoch = ""

    def catch_up(self) -> ClusterState:
        """Fold what was appended since; the caller holds the lock for as long as it uses the state."""
        with self.lock:
            epoch, head = position = self._log.position(self.name)
            if epoch != self._epoch or (self._state is not None and self._state.seq > head):
                self.forget()
                self._epoch = epoch
            if self._state is None:
                self._state = self._log.load_snapshot(self.name) or ClusterState()
            if self._state.seq < head:
                self.fold(self._log.tail(position, self._state.seq))
            return self._state

    def fold(self, events: Iterable[Event]) -> None:
        """Fold events that follow the state's position; on failure the state is forgotten, since half an event may be in it."""
        state = self._state
        if state is None:
            return
        for event in events:
            try:
                evolve(state, event)
            except UnknownEvent:  # raised before the event touches the state
                raise
            except BaseException:
                self.forget()
                raise

    @property
    def state(self) -> ClusterState:
        """The state as far as it was folded; the caller holds the lock and has caught up under it."""
        if self._state is None:
            raise BrokenInvariant(f"the state of cluster {self.name!r} was asked for before it was folded")
        return self._state

    @property
    def position(self) -> Position:
        """Which log was followed, and how far."""
        return Position(self._epoch, self._state.seq if self._state is not None else 0)

    def forget(self) -> None:
        """Start anew next time."""
        self._state = None

    @contextmanager
    def reading(self) -> Iterator[ClusterState]:
        """The state at the head, held still."""
        with self.lock:
            yield self.catch_up()
