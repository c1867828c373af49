"""Snapshots of the fleets: made once for each position, however many browsers ask."""

from __future__ import annotations

import gzip
import threading
from dataclasses import dataclass
from functools import cache

from clusters.eventlog.log import StoredLog
from clusters.eventlog.store import default_log
from frontend.live.fleets import fleet_of
from frontend.live.frames import encode
from frontend.live.view import FleetView

#: Snapshots are sent once a visit: a lower level is nearly as small and ten times as fast.
GZIP_LEVEL = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """A snapshot as it is sent."""

    epoch: str
    seq: int
    body: bytes
    gzipped: bytes

    @property
    def etag(self) -> str:
        """Names the content."""
        return f'"{self.epoch}-{self.seq}"'


class Snapshots:
    """Of one cluster."""

    def __init__(self, log: StoredLog, cluster: str) -> None:
        self._log = log
        self._live = log.live(cluster)
        self._lock = threading.Lock()
        self._view: FleetView | None = None
        self._last: Encoded | None = None

    def latest(self) -> Encoded:
        """The snapshot at the head."""
        with self._lock:
            view, last = self._view, self._last
            if view and last and self._log.position(self._live.name) == (view.log_epoch, last.seq):
                return last
            with self._live.reading() as state:
                log_epoch = self._live.position.epoch
                if view is None or view.log_epoch != log_epoch:
                    view = self._view = FleetView(state, log_epoch)
                else:
                    view.advance(state)
                snapshot = view.snapshot(state, fleet_of(state))
            body = encode(snapshot)
            self._last = Encoded(epoch=snapshot.epoch, seq=snapshot.seq, body=body, gzipped=gzip.compress(body, GZIP_LEVEL, mtime=0))
            return self._last


@cache
def snapshots_of(cluster: str) -> Snapshots:
    """Those of a cluster of this installation; raises UnknownCluster."""
    return Snapshots(default_log(), cluster)
