"""The event log in the database that Django is connected to.

Hot paths use SQL of their own on Django's connection: building a model object for each event costs several times the insert. A writer is
one transaction that holds its log's head row locked from the first statement to the commit, so positions are gapless, become visible in
order, and an append that is rolled back leaves nothing behind.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from django.db import connections, transaction
from django.db.backends.utils import CursorWrapper

from clusters.domain.decision import DecisionRecord
from clusters.domain.errors import ClusterExists, UnknownCluster
from clusters.domain.events import Event
from clusters.domain.ids import Instant
from clusters.eventlog import sql
from clusters.eventlog.claim_rows import write_claims
from clusters.eventlog.claims import Change, Gpu
from clusters.eventlog.codec import audit_rows, decode_record, decode_rows, digest_of, encode_payload, encode_record
from clusters.eventlog.facts import is_cluster_name
from clusters.eventlog.inserts import append_rows
from clusters.eventlog.log import StoredLog, wall_now
from clusters.eventlog.storage import Audited, Position, Repeated, StoredSnapshot

PAGE = 2_000  # rows fetched at a time: no read stays open for long, which would keep SQLite's WAL from being checkpointed
FIND_PAGE = 500  # keys of one look-up


_turn = threading.RLock()


@contextmanager
def taking_turns(alias: str) -> Iterator[None]:
    """Around a write transaction: the threads of this process take turns.

    SQLite has one writer, and who finds it busy looks again after pauses of up to 0.1 s, in no order: under a storm of writes somebody
    would wait for seconds. Other processes are waited for in that way still.
    """
    if connections[alias].vendor == "sqlite":
        with _turn:
            yield
    else:
        yield


class _DatabaseWriter:
    """An open transaction that holds the log's head."""

    def __init__(self, cursor: CursorWrapper, cluster_id: int, position: Position) -> None:
        self.position = position
        self._cursor = cursor
        self._id = cluster_id

    def add(self, events: Sequence[Event], record: DecisionRecord | None = None) -> None:
        decision = None if record is None else (events[0].seq, len(events), encode_record(record))
        if not append_rows(self._cursor, self._id, [row_of(self._id, event) for event in events], decision):
            raise Repeated

    def change_claims(self, changes: Iterable[Change]) -> None:
        write_claims(self._cursor, self._id, changes)

    def sources(self, names: Iterable[str]) -> dict[str, bool]:
        names = list(names)
        self._cursor.execute(sql.SOURCES.format(sql.placeholders(len(names))), (self._id, *names))
        return {name: bool(sequenced) for name, sequenced in self._cursor.fetchall()}

    def add_sources(self, sources: Mapping[str, bool]) -> None:
        for name, sequenced in sources.items():
            self._cursor.execute(sql.ADD_SOURCE, (self._id, name, sequenced))


def row_of(cluster_id: int, event: Event) -> tuple[Any, ...]:
    """The columns of an event's row."""
    payload = encode_payload(event.payload)
    return (cluster_id, *event[:6], payload.decode(), *event[7:], digest_of(event, payload))


class DatabaseStore:
    """Logs in one database."""

    def __init__(self, alias: str) -> None:
        self._alias = alias
        self._ids: dict[str, int] = {}  # epoch of a log -> its cluster's key

    @contextmanager
    def _cursor(self) -> Iterator[CursorWrapper]:
        with connections[self._alias].cursor() as cursor:
            yield cursor

    @contextmanager
    def _transaction(self) -> Iterator[CursorWrapper]:
        # durable: an append inside a longer transaction would be acknowledged before it is safe
        with taking_turns(self._alias), transaction.atomic(using=self._alias, durable=True), self._cursor() as cursor:
            yield cursor

    def _fetch(self, statement: str, parameters: Sequence[str | int]) -> list[Any]:
        with self._cursor() as cursor:
            cursor.execute(statement, parameters)
            rows: list[Any] = cursor.fetchall()
        return rows

    def locate(self, cluster: str) -> tuple[int, Position]:
        """The cluster's key in the tables, and where its log stands."""
        if is_cluster_name(cluster):  # a database may choke on anything else
            for cluster_id, epoch, head in self._fetch(sql.POSITION, (cluster,)):
                self._ids[epoch] = cluster_id
                return cluster_id, Position(epoch, head)
        raise _unknown(cluster)

    # ---- reading

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(name for (name,) in self._fetch(sql.NAMES, ())))

    def position(self, cluster: str) -> Position:
        return self.locate(cluster)[1]

    def read(self, cluster: str, after: int, limit: int | None) -> Iterator[Event]:
        cluster_id, position = self.locate(cluster)
        end = position.head if limit is None else min(position.head, after + limit)
        return decode_rows(self._pages(sql.READ, (cluster_id,), after, end))

    def tail(self, position: Position, after: int) -> Iterator[Event]:
        return decode_rows(self._pages(sql.READ, (self._ids[position.epoch],), after, position.head))

    def audit(self, cluster: str, after: int) -> Iterator[Audited]:
        cluster_id, position = self.locate(cluster)
        return audit_rows(self._pages(sql.READ_WITH_DIGEST, (cluster_id,), after, position.head))

    def about(self, cluster: str, subject: str, after: int) -> Iterator[Event]:
        cluster_id, position = self.locate(cluster)
        return decode_rows(self._pages(sql.READ_ABOUT, (cluster_id, subject), after, position.head))

    def _pages(self, statement: str, key: tuple[str | int, ...], after: int, end: int) -> Iterator[Any]:
        """Rows in order of their first column, a page at a time."""
        while after < end:
            rows = self._fetch(statement, (*key, after, end, PAGE))
            yield from rows
            if len(rows) < PAGE:
                return
            after = rows[-1][0]

    def find(self, cluster: str, source: str, source_ids: Iterable[str]) -> dict[str, Event]:
        cluster_id, _ = self.locate(cluster)
        ids = iter(source_ids)
        found: dict[str, Event] = {}
        while page := list(islice(ids, FIND_PAGE)):
            rows = self._fetch(sql.FIND.format(sql.placeholders(len(page))), (cluster_id, source, *page))
            found.update({event.source_id: event for event in decode_rows(rows)})
        return found

    def decision(self, cluster: str, first_seq: int) -> tuple[int, DecisionRecord] | None:
        cluster_id, _ = self.locate(cluster)
        rows = self._fetch(sql.DECISIONS, (cluster_id, first_seq - 1, first_seq, 1))
        return next(((count, decode_record(record)) for _, count, record in rows), None)

    def decisions(self, cluster: str, after: int) -> Iterator[tuple[int, int, DecisionRecord]]:
        cluster_id, position = self.locate(cluster)
        rows = self._pages(sql.DECISIONS, (cluster_id,), after, position.head)
        return ((first, count, decode_record(record)) for first, count, record in rows)

    def claims(self, cluster: str) -> dict[Gpu, tuple[str, int]]:
        rows = self._fetch(sql.CLAIMS, (self.locate(cluster)[0],))
        return {(node, gpu): (job, generation) for node, gpu, job, generation in rows}

    # ---- writing

    @contextmanager
    def writing(self, cluster: str) -> Iterator[_DatabaseWriter]:
        if not is_cluster_name(cluster):
            raise _unknown(cluster)
        with self._transaction() as cursor:
            yield self._lock(cursor, cluster)

    @contextmanager
    def creating(self, cluster: str, epoch: str) -> Iterator[_DatabaseWriter]:
        with self._transaction() as cursor:
            cursor.execute(sql.ADD_CLUSTER, (cluster, epoch))
            if not cursor.rowcount:
                raise ClusterExists(f"there is a cluster {cluster!r} already")
            cursor.execute(sql.ADD_HEAD, (cluster,))
            yield self._lock(cursor, cluster)

    def _lock(self, cursor: CursorWrapper, cluster: str) -> _DatabaseWriter:
        cursor.execute(sql.LOCK[connections[self._alias].vendor], (cluster,))
        row = cursor.fetchone()
        if row is None:
            raise _unknown(cluster)
        return _DatabaseWriter(cursor, row[0], Position(row[1], row[2]))

    # ---- snapshots

    def save_snapshot(self, cluster: str, snapshot: StoredSnapshot, keep: int) -> None:
        cluster_id, _ = self.locate(cluster)
        with self._transaction() as cursor:
            cursor.execute(sql.ADD_SNAPSHOT, (cluster_id, *snapshot))
            cursor.execute(sql.PRUNE_SNAPSHOTS, (cluster_id, cluster_id, keep))

    def snapshots(self, cluster: str, upto: int | None) -> Iterator[StoredSnapshot]:
        cluster_id, position = self.locate(cluster)
        rows = self._fetch(sql.SNAPSHOTS, (cluster_id, position.head if upto is None else upto))
        return (StoredSnapshot(seq, version, bytes(checksum), bytes(blob)) for seq, version, checksum, blob in rows)

    def snapshot_seq(self, cluster: str) -> int:
        seq: int = self._fetch(sql.SNAPSHOT_SEQ, (self.locate(cluster)[0],))[0][0]
        return seq


def _unknown(cluster: str) -> UnknownCluster:
    return UnknownCluster(f"there is no cluster {cluster!r}")


class DatabaseLog(StoredLog):
    """The event log in a database of Django's settings."""

    def __init__(self, alias: str = "default", wall: Callable[[], Instant] = wall_now) -> None:
        self.alias = alias
        self._database = DatabaseStore(alias)
        super().__init__(self._database, wall)

    def locate(self, cluster: str) -> tuple[int, Position]:
        """The cluster's key in the tables, and where its log stands."""
        return self._database.locate(cluster)
