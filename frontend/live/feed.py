"""The hub's reading side: follows one cluster's log and turns what changed into frames, each encoded once."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.eventlog.log import StoredLog
from frontend.live.fleets import fleet_of
from frontend.live.frames import Resync, text_of
from frontend.live.view import FleetView

#: Nodes in one frame beyond which fetching a snapshot is cheaper for everybody.
MOST_NODES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One frame on its way to every socket. A resync joins on to nothing: `since` is the position it leads to."""

    text: str
    epoch: str
    since: int
    to: int
    resync: bool = False


class Feed:
    """Reads one cluster; only the hub's thread calls it."""

    def __init__(self, log: StoredLog, cluster: str) -> None:
        self.cluster = cluster
        self._log = log
        self._live = log.live(cluster)
        self._view: FleetView | None = None

    @property
    def epoch(self) -> str:
        """Of the last position read."""
        return self._view.epoch if self._view else ""

    @property
    def seq(self) -> int:
        """The last position read."""
        return self._view.seq if self._view else -1

    def advance(self) -> Step | None:
        """Read up to the head; None where nothing happened."""
        view = self._view
        if view is not None and self._log.position(self.cluster) == (view.log_epoch, view.seq):
            return None
        with self._live.reading() as state:
            log_epoch = self._live.position.epoch
            if view is None or view.log_epoch != log_epoch:
                self._view = FleetView(state, log_epoch)
                return self._resync("the log was replaced") if view else None
            changes = view.advance(state)
            if changes is None:
                return self._resync("the inventory changed")
            if len(changes.nodes) > MOST_NODES:
                return self._resync("too much changed at once")
            frame = view.delta(state, changes, fleet_of(state))
        return Step(text=text_of(frame), epoch=frame.epoch, since=frame.from_, to=frame.to)

    def _resync(self, reason: str) -> Step:
        return Step(text=text_of(Resync(reason)), epoch=self.epoch, since=self.seq, to=self.seq, resync=True)
