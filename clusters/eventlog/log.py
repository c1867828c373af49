"""The event log over a store: facts, decisions, live states, and telling those who listen in this process."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from uuid import uuid4

from clusters.domain.decision import Decide, DecisionRecord, Refusal
from clusters.domain.events import Event, NewEvent
from clusters.domain.ids import Instant
from clusters.domain.state import ClusterState
from clusters.eventlog.claims import Gpu
from clusters.eventlog.deciding import Decider
from clusters.eventlog.facts import check_facts, check_new_log, check_request, number_facts, sequenced_sources
from clusters.eventlog.follow import LiveCluster
from clusters.eventlog.intake import Intake, Sources
from clusters.eventlog.port import Committed, Guard, Receipt
from clusters.eventlog.request import Request
from clusters.eventlog.state_codec import latest_sound, pack
from clusters.eventlog.storage import Audited, Position, Store, StoredSnapshot

logger = logging.getLogger(__name__)

#: Of each cluster: should the latest be damaged, the one before it is there.
SNAPSHOTS_KEPT = 2

Subscriber = Callable[[str], None]


def wall_now() -> Instant:
    """The wall clock: the only one that the log reads."""
    return time.time_ns() // 1_000


class StoredLog:
    """See port.EventLog for what each method promises."""

    def __init__(self, store: Store, wall: Callable[[], Instant] = wall_now) -> None:
        self._store = store
        self._wall = wall
        self._sources = Sources()
        self._intake = Intake(store, self._sources, wall)
        self._decider = Decider(store, self._sources, wall)
        self._lives: dict[str, LiveCluster] = {}
        self._subscribers: tuple[Subscriber, ...] = ()
        self._guard = threading.Lock()  # of the two above

    # ---- writing

    def create(self, cluster: str, facts: Sequence[NewEvent]) -> None:
        check_new_log(cluster, facts)
        sources = sequenced_sources(facts)
        with self._store.creating(cluster, uuid4().hex) as writer:
            self._sources.check(writer, sources)
            writer.add(number_facts(facts, 1, self._wall()))
        self._notify(cluster)

    def append_facts(self, cluster: str, facts: Sequence[NewEvent], guard: Guard | None = None) -> tuple[Receipt, ...]:
        check_facts(facts)
        receipts = self._intake.append(cluster, facts, guard) if facts else ()
        if not all(receipt.duplicate for receipt in receipts):
            self._notify(cluster)
        return receipts

    def commit(self, cluster: str, request: Request, decide: Decide) -> Committed | Refusal:
        check_request(request)
        live = self.live(cluster)
        with live.lock:
            outcome = self._decider.commit(live, request, decide)
        if isinstance(outcome, Committed) and outcome.events and not outcome.duplicate:
            self._notify(cluster)
        return outcome

    # ---- reading

    def clusters(self) -> tuple[str, ...]:
        return self._store.names()

    def position(self, cluster: str) -> Position:
        return self._store.position(cluster)

    def head(self, cluster: str) -> int:
        return self._store.position(cluster).head

    def read(self, cluster: str, after: int = 0, limit: int | None = None) -> Iterator[Event]:
        return self._store.read(cluster, after, limit)

    def tail(self, position: Position, after: int) -> Iterator[Event]:
        """Events after a position up to where the log was just told to stand."""
        return self._store.tail(position, after)

    def about(self, cluster: str, subject: str, after: int = 0) -> Iterator[Event]:
        """Nothing is about what no store can hold: text with a NUL, or with lone surrogates."""
        if "\x00" in subject or any("\ud800" <= sign <= "\udfff" for sign in subject):
            return iter(())
        return self._store.about(cluster, subject, after)

    def said(self, cluster: str, source: str, source_id: str) -> Event | None:
        """What a source has said under an id, if anything."""
        return self.said_of(cluster, source, (source_id,)).get(source_id)

    def said_of(self, cluster: str, source: str, source_ids: Sequence[str]) -> dict[str, Event]:
        """What a source has said under each of these ids, if anything."""
        return self._store.find(cluster, source, source_ids) if source_ids else {}

    def audit(self, cluster: str, after: int = 0) -> Iterator[Audited]:
        return self._store.audit(cluster, after)

    def decisions(self, cluster: str, after: int = 0) -> Iterator[tuple[int, int, DecisionRecord]]:
        return self._store.decisions(cluster, after)

    def claims(self, cluster: str) -> dict[Gpu, tuple[str, int]]:
        return self._store.claims(cluster)

    @contextmanager
    def held(self, cluster: str) -> Iterator[None]:
        """Nothing is appended meanwhile."""
        with self._store.writing(cluster):
            yield

    # ---- states

    def live(self, cluster: str) -> LiveCluster:
        known = self._lives.get(cluster)
        if known is not None:
            return known
        self._store.position(cluster)  # a name that is no cluster's gets no place in the table
        with self._guard:
            return self._lives.setdefault(cluster, LiveCluster(self, cluster))

    def save_snapshot(self, cluster: str, state: ClusterState) -> None:
        self._store.save_snapshot(cluster, pack(state), SNAPSHOTS_KEPT)

    def load_snapshot(self, cluster: str, upto: int | None = None) -> ClusterState | None:
        return latest_sound(cluster, self._store.snapshots(cluster, upto))

    def snapshots(self, cluster: str) -> Iterator[StoredSnapshot]:
        return self._store.snapshots(cluster, None)

    def snapshot_seq(self, cluster: str) -> int:
        return self._store.snapshot_seq(cluster)

    # ---- telling (a shortcut: following `head` is the truth)

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        with self._guard:
            self._subscribers = (*self._subscribers, callback)
        return lambda: self._unsubscribe(callback)

    def _unsubscribe(self, callback: Subscriber) -> None:
        with self._guard:
            self._subscribers = tuple(other for other in self._subscribers if other is not callback)

    def _notify(self, cluster: str) -> None:
        for callback in self._subscribers:
            try:
                callback(cluster)
            except Exception:  # the append stands: one who listens badly must not undo it for the caller
                logger.exception("a subscriber of cluster %r failed", cluster)
