"""When the scheduling pass has something to do, and telling it so.

An event matters if it may free room, ask for some, or leave a job to settle or recover. What only takes room, or tells how work gets on,
does not. A pass that finds nothing to do writes nothing, so waking it once too often costs a millisecond and waking it too seldom costs a
job its start: what is not listed as quiet wakes it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from kombu.exceptions import OperationalError

from clusters.domain.clock import cluster_now
from clusters.domain.commands import RunPass
from clusters.domain.decision import Decision
from clusters.domain.state import ClusterState
from clusters.eventlog.correlation import correlated
from clusters.eventlog.log import wall_now
from scheduling.domain.decide import decide

QUIET = frozenset(
    {
        "ArrivalsPlanned",
        "ClockSet",
        "JobBlocked",
        "JobHeld",
        "JobPlaced",
        "NodeDraining",
        "NodeQuarantined",
        "NodeSuspected",
        "NodeSwapped",
        "NodeUnreachable",
        "RepairStarted",
        "SliceMoved",
        "SliceStalled",
        "WorkStarted",
    }
)

#: A wake-up that has not begun after this time (seconds) is taken for lost.
LOST = 1.0

#: A message that no worker has taken for so long (seconds) is dropped: the sweep has sent newer ones. Where there is no worker for a night,
#: its first minutes are not spent on what was sent meanwhile.
LIFE = 60.0


def is_settled(state: ClusterState) -> bool:
    """Whether a pass would find nothing to do. Deciding is cheap, and asks no other process how far it is."""
    if not (state.queue or state.lost or state.stopped):
        return True
    outcome = decide(state, RunPass(), cluster_now(state, wall_now()))
    return not (isinstance(outcome, Decision) and outcome.events)


class Waker:
    """Sends the wake-ups of this process: at most one is on its way for each cluster."""

    def __init__(self, send: Callable[[str], None]) -> None:
        self._send = send
        self._sent: dict[str, float] = {}  # cluster -> when its wake-up was sent, until it has begun
        self._guard = threading.Lock()

    def wake(self, cluster: str, correlation: str = "") -> None:
        """The pass has something to do, because of what the correlation names; raises OperationalError where there is no broker.

        A wake-up that is on its way will see it: a pass looks at the log after it has begun.
        """
        now = time.monotonic()
        with self._guard:
            if now - self._sent.get(cluster, -LOST) < LOST:
                return
            self._sent[cluster] = now
        try:
            with correlated(correlation):
                self._send(cluster)
        except OperationalError:
            self.begun(cluster)  # nothing is on its way
            raise

    def begun(self, cluster: str) -> None:
        """A pass is about to look at the log, or has: what happens from now on needs another wake-up."""
        with self._guard:
            self._sent.pop(cluster, None)
