"""Projections: tables that lists and filters read, derived from the log and nothing else.

A projection has a position, stored in the transaction that stores the rows up to there: after a crash it goes on where its rows end, and
an event is never missed or applied twice. It runs a fold of its own, so that rows say what the state said. Where several processes
project the same cluster, moving the position decides: whoever comes second finds it moved, and drops its work.

A rebuild grows a second build beside the one that is read, and takes its place in one transaction once it has reached the head.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

from django.db import connections, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import OuterRef, Subquery

from clusters.domain.errors import UnknownEvent
from clusters.domain.events import Event
from clusters.domain.evolve import evolve
from clusters.domain.state import ClusterState
from clusters.eventlog.database import DatabaseLog, taking_turns
from clusters.eventlog.models import ProjectionPosition

#: Events whose rows are written in one transaction: a few milliseconds, so that appends go on in between.
CHUNK = 200

#: Rows of an old build deleted in one transaction.
DELETE_CHUNK = 2_000

_KEY = "cluster_id = %s AND name = %s"
_BUILDS = f"SELECT build, live, seq FROM clusters_projectionposition WHERE {_KEY} ORDER BY build"
_ADD = "INSERT INTO clusters_projectionposition (cluster_id, name, build, live, seq) VALUES (%s, %s, %s, %s, 0) ON CONFLICT DO NOTHING"
_MOVE = f"UPDATE clusters_projectionposition SET seq = %s WHERE {_KEY} AND build = %s AND seq = %s"
_SET_LIVE = f"UPDATE clusters_projectionposition SET live = %s WHERE {_KEY} AND build = %s"
_DROP = f"DELETE FROM clusters_projectionposition WHERE {_KEY} AND build = %s"
_DELETE_SOME = (
    "DELETE FROM {table} WHERE cluster_id = %s AND build = %s AND {key} IN "
    f"(SELECT {{key}} FROM {{table}} WHERE cluster_id = %s AND build = %s LIMIT {DELETE_CHUNK})"
)

Rows = dict[str, Any]


class Projection(ABC):
    """Rows that follow from a log, each with the build it belongs to."""

    name: ClassVar[str]
    tables: ClassVar[Mapping[str, str]]  # table, with columns cluster_id and build -> the column that tells rows of a build apart

    @abstractmethod
    def fold(self, state: ClusterState, event: Event, rows: Rows) -> None:
        """Fold the event, and put what it changed into `rows`: the latest of each key."""

    @abstractmethod
    def write(self, cursor: CursorWrapper, cluster_id: int, build: int, rows: Rows) -> None:
        """Insert the rows, or change those that are there; doing so twice is the same as once."""


class _Build(NamedTuple):
    """One set of rows of one cluster."""

    cluster: str
    cluster_id: int
    epoch: str
    number: int
    live: bool  # the one that is read
    seq: int  # how far it has come


class Projector:
    """Keeps one projection up to date, for all clusters of a log."""

    def __init__(self, log: DatabaseLog, projection: Projection) -> None:
        self._log = log
        self._projection = projection
        self._folds: dict[tuple[str, int], ClusterState] = {}  # (epoch, build) -> state where its rows end
        self._guard = threading.Lock()

    def project(self, cluster: str, budget_events: int = 500) -> bool:
        """Apply up to so many events; True if there are more."""
        with self._guard:
            return self._advance(self._live_build(cluster), budget_events)

    def rebuild(self, cluster: str) -> None:
        """Make all rows anew, then let them take the place of those that are read now."""
        with self._guard:
            old = self._live_build(cluster)
            self._drop_others(cluster, old.number)  # left behind by a rebuild that was interrupted
            new = old.number + 1
            self._execute(_ADD, (old.cluster_id, self._projection.name, new, False))
            while self._advance(self._build(cluster, new), CHUNK):
                pass
            with self._transaction() as cursor:
                cursor.execute(_SET_LIVE, (False, old.cluster_id, self._projection.name, old.number))
                cursor.execute(_SET_LIVE, (True, old.cluster_id, self._projection.name, new))
            self._drop_others(cluster, new)

    def _advance(self, build: _Build, budget: int) -> bool:
        """Apply events to a build and move its position, a chunk at a time; True if it has not reached the head."""
        state = self._state_at(build)
        for chunk in _chunks(self._log.read(build.cluster, build.seq, budget)):
            rows: Rows = {}
            before = state.seq
            for event in chunk:
                self._projection.fold(state, event, rows)
            with self._transaction() as cursor:
                cursor.execute(_MOVE, (state.seq, build.cluster_id, self._projection.name, build.number, before))
                if not cursor.rowcount:  # another process has done these
                    del self._folds[build.epoch, build.number]
                    return True
                self._projection.write(cursor, build.cluster_id, build.number, rows)
        return state.seq < self._log.head(build.cluster)

    def _state_at(self, build: _Build) -> ClusterState:
        """The state at the build's position: the one at hand, else folded from the nearest snapshot."""
        key = (build.epoch, build.number)
        state = self._folds.get(key)
        if state is None or state.seq != build.seq:
            state = self._log.load_snapshot(build.cluster, build.seq) or ClusterState()
            for event in self._log.read(build.cluster, state.seq, build.seq - state.seq):
                evolve(state, event)
            self._folds[key] = state
        return state

    # ---- builds

    @contextmanager
    def _transaction(self) -> Iterator[CursorWrapper]:
        """A commit that does not wait for the disk: should it be lost with the power, rows and position are lost together, and made again.

        The next append makes it durable with itself. Waiting here would keep appends waiting: a storm of events means many commits.
        """
        connection = connections[self._log.alias]
        lazy = connection.vendor == "sqlite" and not connection.in_atomic_block  # SQLite changes it between transactions only
        with taking_turns(self._log.alias), connection.cursor() as cursor:
            if lazy:
                cursor.execute("PRAGMA synchronous = NORMAL")
            try:
                with transaction.atomic(using=self._log.alias):
                    if connection.vendor == "postgresql":
                        cursor.execute("SET LOCAL synchronous_commit = off")
                    yield cursor
            finally:
                if lazy:
                    cursor.execute("PRAGMA synchronous = FULL")

    def _builds(self, cluster: str) -> list[_Build]:
        cluster_id, position = self._log.locate(cluster)
        with connections[self._log.alias].cursor() as cursor:
            cursor.execute(_BUILDS, (cluster_id, self._projection.name))
            return [_Build(cluster, cluster_id, position.epoch, *row) for row in cursor.fetchall()]

    def _build(self, cluster: str, number: int) -> _Build:
        return next(build for build in self._builds(cluster) if build.number == number)

    def _live_build(self, cluster: str) -> _Build:
        live = next((build for build in self._builds(cluster) if build.live), None)
        if live is not None:
            return live
        self._execute(_ADD, (self._log.locate(cluster)[0], self._projection.name, 1, True))
        return self._live_build(cluster)

    def _drop_others(self, cluster: str, kept: int) -> None:
        """Delete all builds but one, rows first."""
        for build in self._builds(cluster):
            if build.number == kept:
                continue
            self._folds.pop((build.epoch, build.number), None)
            for table, key in self._projection.tables.items():
                some = _DELETE_SOME.format(table=table, key=key)
                while self._execute(some, (build.cluster_id, build.number) * 2):
                    pass
            self._execute(_DROP, (build.cluster_id, self._projection.name, build.number))

    def _execute(self, statement: str, parameters: tuple[str | int, ...]) -> int:
        """One statement in a transaction of its own; returns how many rows it changed."""
        with self._transaction() as cursor:
            cursor.execute(statement, parameters)
            return int(cursor.rowcount)


def live_build(name: str) -> Subquery:
    """The build of a projection that is read, for a filter on rows of a cluster."""
    return Subquery(ProjectionPosition.objects.filter(cluster=OuterRef("cluster"), name=name, live=True).values("build")[:1])


def _chunks(events: Iterable[Event]) -> Iterator[list[Event]]:
    """Events in lists of at most CHUNK; those before one that cannot be read still come."""
    chunk: list[Event] = []
    try:
        for event in events:
            chunk.append(event)
            if len(chunk) == CHUNK:
                yield chunk
                chunk = []
    except UnknownEvent:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk
