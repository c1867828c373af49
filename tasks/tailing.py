"""The tail of every log: what was appended wakes the pass, and from time to time the housekeeping.

Appends of this process announce themselves; those of others are found by looking at the heads, at least ten times a second.
"""

from __future__ import annotations

import logging
import threading
import time

from django.db import DatabaseError, close_old_connections, connections
from kombu.exceptions import OperationalError

from clusters.domain.errors import UnknownCluster, UnknownEvent
from clusters.eventlog.correlation import is_sound
from clusters.eventlog.store import default_log, subscribe
from tasks import heartbeat, housekeeping
from tasks.passes import waker
from tasks.waking import QUIET

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.1

#: How often, at most, the housekeeping of a busy cluster is sent for.
KEEP_SECONDS = 0.25

#: After trouble with the database or the broker.
PAUSE_SECONDS = 1.0


class Tail:
    """Follows the heads of all logs on one thread."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._wake = threading.Event()
        self._seen: dict[str, int] = {}
        self._kept: dict[str, float] = {}  # when the housekeeping was last sent for
        self._untidy: set[str] = set()  # clusters that have grown since

    def run(self) -> None:
        """Until told to stop."""
        unsubscribe = subscribe(lambda _: self._wake.set())
        try:
            while not self._stop.is_set():
                self._wake.wait(LOOK_SECONDS)
                self._wake.clear()
                try:
                    self.look()
                except DatabaseError:
                    logger.exception("the logs cannot be read; trying again")
                    close_old_connections()
                    self._stop.wait(PAUSE_SECONDS)
                except OperationalError as error:
                    logger.error("no wake-up could be sent, so jobs wait: the broker does not answer (%s); trying again", error)  # noqa: TRY400
                    self._stop.wait(PAUSE_SECONDS)
        finally:
            unsubscribe()
            connections.close_all()

    def look(self) -> None:
        """Look at every log once. A cluster seen for the first time has its pass woken, whatever its log says."""
        for cluster in default_log().clusters():
            try:
                self._look_at(cluster)
            except UnknownCluster:  # removed a moment ago
                self._seen.pop(cluster, None)
        waker.flush()
        now = time.monotonic()
        for cluster in sorted(self._untidy):
            if now - self._kept.get(cluster, 0.0) >= KEEP_SECONDS:
                self._kept[cluster] = now
                self._untidy.discard(cluster)
                housekeeping.keep.delay(cluster)
        heartbeat.beat(heartbeat.TAIL)

    def _look_at(self, cluster: str) -> None:
        log = default_log()
        head = log.head(cluster)
        seen = self._seen.get(cluster)
        if head == seen:
            return
        self._untidy.add(cluster)
        self._seen[cluster] = head
        loud = "" if seen is None or head < seen else self._loud(cluster, seen, head)
        if loud is not None:
            waker.wake(cluster, loud)

    def _loud(self, cluster: str, after: int, head: int) -> str | None:
        """What the events that matter belong to, the first that says so; None where none matters."""
        try:
            loud = [event.correlation for event in default_log().read(cluster, after, head - after) if event.kind not in QUIET]
        except UnknownEvent:  # of a later version: the pass will say so
            return ""
        return next((name for name in loud if is_sound(name)), "") if loud else None
