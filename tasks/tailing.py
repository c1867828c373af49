"""The tail of every log: what was appended wakes the pass, as do its deadlines, and from time to time the housekeeping.

Appends of this process announce themselves; those of others are found by looking at the heads, at least ten times a second.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable

from django.db import DatabaseError, close_old_connections, connections
from kombu.exceptions import OperationalError

from clusters.domain.errors import ClusterError, UnknownCluster, UnknownEvent
from clusters.domain.events import Event
from clusters.domain.health import SCHEDULER
from clusters.eventlog.correlation import is_sound
from clusters.eventlog.store import default_log, subscribe
from tasks import heartbeat, housekeeping
from tasks.defrag import Calls
from tasks.passes import waker
from tasks.waking import QUIET, Timers, is_settled

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
        self._open: dict[str, str] = {}  # clusters whose pass may have something to do -> what that belongs to
        self._timers = Timers()
        self._calls = Calls()
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
                except DatabaseError as error:
                    logger.error("the logs cannot be read (%s); trying again", error)  # noqa: TRY400
                    close_old_connections()
                    self._stop.wait(PAUSE_SECONDS)
                except OperationalError as error:
                    logger.error("no wake-up could be sent, so jobs wait: the broker does not answer (%s); trying again", error)  # noqa: TRY400
                    self._stop.wait(PAUSE_SECONDS)
        finally:
            unsubscribe()
            connections.close_all()

    def look(self) -> None:
        """Look at every log once, then send for what is to be done. A log seen for the first time may need a pass, too."""
        for cluster in default_log().clusters():
            try:
                self._look_at(cluster)
            except UnknownCluster:  # removed a moment ago
                self._seen.pop(cluster, None)
                self._timers.forget(cluster)
            except UnknownEvent:  # of a later version: this process can do nothing for the cluster
                self._open.pop(cluster, None)
            except ClusterError:  # told once for each position; the other clusters' passes are woken all the same
                self._open.pop(cluster, None)
                logger.exception("the log of cluster %r cannot be followed", cluster)
        now = time.monotonic()
        for cluster in sorted(self._untidy):
            if now - self._kept.get(cluster, 0.0) >= KEEP_SECONDS:
                self._kept[cluster] = now
                self._untidy.discard(cluster)
                housekeeping.keep.delay(cluster)
        heartbeat.beat(heartbeat.TAIL)

    def _look_at(self, cluster: str) -> None:
        log = default_log()
        head, seen = log.head(cluster), self._seen.get(cluster)
        if head != seen:
            self._seen[cluster] = head
            self._untidy.add(cluster)
            if seen is None or head < seen:
                self._timers.forget(cluster)
                self._open.setdefault(cluster, "")
            else:
                self._note(cluster, log.read(cluster, seen, head - seen))
        if head == seen and cluster not in self._open and not self._timers.is_time(cluster):
            return
        with log.live(cluster).reading() as state:
            if self._timers.look(cluster, state):
                self._open.setdefault(cluster, "")
            if cluster not in self._open:
                return
            settled = is_settled(state)
        if settled:  # whatever is on its way still has been overtaken: it may come too early for what happens next
            waker.begun(cluster)
            self._open.pop(cluster, None)
        else:
            waker.wake(cluster, self._open[cluster])

    def _note(self, cluster: str, events: Iterable[Event]) -> None:
        for event in events:
            if event.source == SCHEDULER:  # a pass, perhaps of another process, has come this far
                waker.begun(cluster)
            self._calls.note(cluster, event.kind)
            if event.kind not in QUIET:
                self._open[cluster] = self._open.get(cluster) or (event.correlation if is_sound(event.correlation) else "")
