"""When the scheduling pass has something to do, and telling it so.

Two things give it something to do: what happens, and time. An event matters if it may free room, ask for some, leave a job to settle or
recover, or take a node that is kept for a job. What only takes other room, or tells how work gets on, does not. A pass that finds nothing
to do writes nothing, so waking it once too often costs a millisecond and waking it too seldom costs a job its start: what is not listed
as quiet wakes it. Time matters at deadlines.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from kombu.exceptions import OperationalError

from clusters.domain.clock import cluster_now
from clusters.domain.commands import RunPass
from clusters.domain.decision import Decision
from clusters.domain.ids import Instant
from clusters.domain.state import ClusterState
from clusters.eventlog.correlation import correlated
from clusters.eventlog.log import wall_now
from scheduling.domain.deadlines import next_deadline
from scheduling.domain.decide import decide

QUIET = frozenset(
    {
        "ArrivalsPlanned",
        "ClockSet",
        "JobBlocked",
        "JobPlaced",
        "JobPreempted",
        "NodeCheckRequested",
        "NodeSwapped",
        "ReservationExpired",
        "SliceMoved",
        "SliceStalled",
        "SpaceFreed",
        "SpaceReserved",
        "WorkLost",
    }
)

#: A wake-up that has not begun after this time (seconds) is taken for lost.
LOST = 1.0

#: A message that no worker has taken for so long (seconds) is dropped: the sweep has sent newer ones. Where there is no worker for a night,
#: its first minutes are not spent on what was sent meanwhile.
LIFE = 60.0


def is_settled(state: ClusterState) -> bool:
    """Whether a pass would find nothing to do. Deciding is cheap, and asks no other process how far it is."""
    if state.unbooked:
        return False
    jobs = state.queue or state.lost or state.stopped or state.limited or state.defrag
    if not (jobs or state.watched or state.incidents or state.closed_racks or state.unasked):
        return True
    outcome = decide(state, RunPass(), cluster_now(state, wall_now()))
    return not (isinstance(outcome, Decision) and outcome.events)


class Timers:
    """When the pass of each cluster is due although nothing is appended: at deadlines of cluster time, whatever becomes of the clock."""

    def __init__(self) -> None:
        self._looked: dict[str, Instant] = {}  # cluster time up to which no deadline was missed
        self._due: dict[str, tuple[Instant, Instant | None]] = {}  # the next deadline, and the wall time of it, if that is known

    def look(self, cluster: str, state: ClusterState) -> bool:
        """The log has grown, or the time has come: whether a deadline was reached since the last look. Notes the next."""
        now = cluster_now(state, wall_now())
        known = self._due.pop(cluster, None)
        reached = known is not None and known[0] <= now
        deadline = next_deadline(state, self._looked.get(cluster, now))
        if deadline is not None and deadline <= now:
            reached, deadline = True, next_deadline(state, now)
        self._looked[cluster] = now
        if deadline is not None:
            clock = state.clock
            self._due[cluster] = deadline, None if clock.lockstep or clock.speed <= 0 else clock.wall_for(deadline)
        return reached

    def is_time(self, cluster: str) -> bool:
        """Whether the wall clock has come to a deadline: cheap, and asked all the time. In lockstep the log tells the time."""
        _, wall = self._due.get(cluster, (0, None))
        return wall is not None and wall < wall_now()

    def forget(self, cluster: str) -> None:
        """The cluster is gone, or another has its name."""
        self._looked.pop(cluster, None)
        self._due.pop(cluster, None)


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
