"""What the log needs of a store: small primitives, so that appending and deciding are written once for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from clusters.domain.decision import DecisionRecord
from clusters.domain.events import Event
from clusters.eventlog.claims import Change, Gpu


class Position(NamedTuple):
    """Where a log stands."""

    epoch: str  # drawn at creation: tells a log from an earlier one of the same name
    head: int


class Audited(NamedTuple):
    """An event as a proof reads it."""

    seq: int
    event: Event | None  # None: it cannot be read
    problem: str  # in words; empty when its content is what was stored


class StoredSnapshot(NamedTuple):
    """A snapshot as kept."""

    seq: int
    version: int
    checksum: bytes
    blob: bytes


class Repeated(Exception):
    """A (source, source_id) is in the log already."""


class Writer(Protocol):
    """Appends to one log while it holds that log's lock. Everything happens when the context ends well, or nothing."""

    @property
    def position(self) -> Position:
        """Where the log stood when the lock was taken."""

    def add(self, events: Sequence[Event], record: DecisionRecord | None = None) -> None:
        """Append events numbered on from the head, and keep what the decision behind them used, where there is one.

        Raises Repeated, after which the context must not end well.
        """

    def change_claims(self, changes: Iterable[Change]) -> None:
        """Give and take GPUs; raises BrokenInvariant where one would get a second owner."""

    def sources(self, names: Iterable[str]) -> dict[str, bool]:
        """Whether each of these sources numbers its facts, as far as they are known."""

    def add_sources(self, sources: Mapping[str, bool]) -> None:
        """Remember new sources."""


class Store(Protocol):
    """Keeps logs. All but `names` raise UnknownCluster."""

    def names(self) -> tuple[str, ...]:
        """Names of all clusters, sorted."""

    def position(self, cluster: str) -> Position:
        """Where the log stands."""

    def read(self, cluster: str, after: int, limit: int | None) -> Iterator[Event]:
        """Events after a position, in order."""

    def tail(self, position: Position, after: int) -> Iterator[Event]:
        """Events after a position up to where the log was just told to stand, in order; none where it is gone by now."""

    def audit(self, cluster: str, after: int) -> Iterator[Audited]:
        """Events after a position, each held to the digest that was stored with it; ends after one that cannot be read."""

    def about(self, cluster: str, subject: str, after: int) -> Iterator[Event]:
        """Events of one subject after a position, in order."""

    def find(self, cluster: str, source: str, source_ids: Iterable[str]) -> dict[str, Event]:
        """The events that a source sent under these ids."""

    def decision(self, cluster: str, first_seq: int) -> tuple[int, DecisionRecord] | None:
        """Number of events and record of the decision whose first event is there."""

    def decisions(self, cluster: str, after: int) -> Iterator[tuple[int, int, DecisionRecord]]:
        """First event, number of events and record of each decision that begins after a position."""

    def claims(self, cluster: str) -> dict[Gpu, tuple[str, int]]:
        """Which job holds each claimed GPU, and the job's generation when it got it."""

    def writing(self, cluster: str) -> AbstractContextManager[Writer]:
        """Take the log's lock; others who append wait."""

    def creating(self, cluster: str, epoch: str) -> AbstractContextManager[Writer]:
        """Open an empty log, locked; raises ClusterExists."""

    def save_snapshot(self, cluster: str, snapshot: StoredSnapshot, keep: int) -> None:
        """Keep a snapshot and the `keep - 1` before it."""

    def snapshots(self, cluster: str, upto: int | None) -> Iterator[StoredSnapshot]:
        """Kept snapshots of positions up to `upto`, latest first."""

    def snapshot_seq(self, cluster: str) -> int:
        """Position of the latest snapshot; 0 without one."""
