"""A log in memory: the same contract without a database, for tests of the domain and for simulations.

Events are kept as they are, not as text: they are immutable, and encoding them would cost more than deciding. A writer collects its
changes and applies them when it ends well, events last, so readers need no lock.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from clusters.domain.decision import DecisionRecord
from clusters.domain.errors import ClusterExists, UnknownCluster
from clusters.domain.events import Event
from clusters.domain.ids import Instant
from clusters.eventlog.claims import Change, Gpu, Holders, apply_claim
from clusters.eventlog.log import StoredLog, wall_now
from clusters.eventlog.storage import Audited, Position, Repeated, StoredSnapshot


@dataclass(slots=True, kw_only=True)
class _Log:
    """One cluster's log."""

    epoch: str
    events: list[Event] = field(default_factory=list)
    places: dict[tuple[str, str], int] = field(default_factory=dict)  # (source, source_id) -> seq
    subjects: dict[str, list[int]] = field(default_factory=dict)  # subject -> its seqs
    sources: dict[str, bool] = field(default_factory=dict)
    decisions: list[tuple[int, int, DecisionRecord]] = field(default_factory=list)
    claims: dict[str, Holders] = field(default_factory=dict)  # by node
    snapshots: list[StoredSnapshot] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)


class _MemoryWriter:
    """Changes to one log, not yet applied."""

    def __init__(self, log: _Log) -> None:
        self.position = Position(log.epoch, len(log.events))
        self._log = log
        self._events: list[Event] = []
        self._places: dict[tuple[str, str], int] = {}
        self._sources: dict[str, bool] = {}
        self._decisions: list[tuple[int, int, DecisionRecord]] = []
        self._claims: dict[str, Holders] = {}

    def add(self, events: Sequence[Event], record: DecisionRecord | None = None) -> None:
        for event in events:
            key = (event.source, event.source_id)
            if key in self._log.places or key in self._places:
                raise Repeated
            self._places[key] = event.seq
        self._events.extend(events)
        if record is not None:
            self._decisions.append((events[0].seq, len(events), record))

    def change_claims(self, changes: Iterable[Change]) -> None:
        for change in changes:
            holders = self._claims.setdefault(change.node, dict(self._log.claims.get(change.node, {})))
            apply_claim(holders, change)

    def sources(self, names: Iterable[str]) -> dict[str, bool]:
        return {name: self._log.sources[name] for name in names if name in self._log.sources}

    def add_sources(self, sources: Mapping[str, bool]) -> None:
        self._sources.update(sources)

    def apply(self) -> None:
        """All of it, the events last."""
        log = self._log
        log.claims.update(self._claims)
        log.sources.update(self._sources)
        log.decisions.extend(self._decisions)
        log.places.update(self._places)
        for event in self._events:
            log.subjects.setdefault(event.subject, []).append(event.seq)
        log.events.extend(self._events)


class MemoryStore:
    """Logs in dictionaries; threads may share it."""

    def __init__(self) -> None:
        self._logs: dict[str, _Log] = {}
        self._guard = threading.Lock()

    def _log(self, cluster: str) -> _Log:
        try:
            return self._logs[cluster]
        except KeyError:
            raise UnknownCluster(f"there is no cluster {cluster!r}") from None

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._logs))

    def position(self, cluster: str) -> Position:
        log = self._log(cluster)
        return Position(log.epoch, len(log.events))

    def read(self, cluster: str, after: int, limit: int | None) -> Iterator[Event]:
        events = self._log(cluster).events
        end = len(events) if limit is None else min(len(events), after + limit)
        return (events[place] for place in range(after, end))

    def tail(self, position: Position, after: int) -> Iterator[Event]:
        for log in self._logs.values():
            if log.epoch == position.epoch:
                return iter(log.events[after : position.head])
        return iter(())

    def audit(self, cluster: str, after: int) -> Iterator[Audited]:
        return (Audited(event.seq, event, "") for event in self.read(cluster, after, None))

    def about(self, cluster: str, subject: str, after: int) -> Iterator[Event]:
        log = self._log(cluster)
        head = len(log.events)
        seqs = log.subjects.get(subject, ())
        return (log.events[seq - 1] for seq in seqs[bisect_right(seqs, after) :] if seq <= head)

    def find(self, cluster: str, source: str, source_ids: Iterable[str]) -> dict[str, Event]:
        log = self._log(cluster)
        places = ((source_id, log.places.get((source, source_id))) for source_id in source_ids)
        return {source_id: log.events[seq - 1] for source_id, seq in places if seq is not None}

    def decision(self, cluster: str, first_seq: int) -> tuple[int, DecisionRecord] | None:
        return next(((count, record) for seq, count, record in self.decisions(cluster, first_seq - 1) if seq == first_seq), None)

    def decisions(self, cluster: str, after: int) -> Iterator[tuple[int, int, DecisionRecord]]:
        decisions = self._log(cluster).decisions
        first = bisect_right(decisions, after, key=lambda decision: decision[0])
        return (decisions[place] for place in range(first, len(decisions)))

    def claims(self, cluster: str) -> dict[Gpu, tuple[str, int]]:
        return {(node, gpu): holder for node, holders in self._log(cluster).claims.items() for gpu, holder in holders.items()}

    @contextmanager
    def writing(self, cluster: str) -> Iterator[_MemoryWriter]:
        log = self._log(cluster)
        with log.lock:
            writer = _MemoryWriter(log)
            yield writer
            writer.apply()

    @contextmanager
    def creating(self, cluster: str, epoch: str) -> Iterator[_MemoryWriter]:
        with self._guard:
            if cluster in self._logs:
                raise ClusterExists(f"there is a cluster {cluster!r} already")
            log = _Log(epoch=epoch)
            writer = _MemoryWriter(log)
            yield writer
            writer.apply()
            self._logs[cluster] = log

    def save_snapshot(self, cluster: str, snapshot: StoredSnapshot, keep: int) -> None:
        log = self._log(cluster)
        others = [other for other in log.snapshots if other.seq != snapshot.seq]
        log.snapshots = sorted([*others, snapshot], reverse=True)[:keep]

    def snapshots(self, cluster: str, upto: int | None) -> Iterator[StoredSnapshot]:
        return (snapshot for snapshot in self._log(cluster).snapshots if upto is None or snapshot.seq <= upto)

    def snapshot_seq(self, cluster: str) -> int:
        return max((snapshot.seq for snapshot in self._log(cluster).snapshots), default=0)


class MemoryLog(StoredLog):
    """An event log that lives as long as the object."""

    def __init__(self, wall: Callable[[], Instant] = wall_now) -> None:
        super().__init__(MemoryStore(), wall)
