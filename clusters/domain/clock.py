"""Cluster time: runs at `speed` times wall time from an anchor that ClockSet gives.

Above LOCKSTEP_SPEED a wall millisecond is most of a cluster second, so decisions would seem slow through no fault of their own. There
the simulated fleet waits for the pass after each batch, and decisions are made at the fleet's own time, as in any event-driven simulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from clusters.domain.ids import Instant

#: Times wall speed above which the fleet waits for the pass.
LOCKSTEP_SPEED = 60.0

#: Times wall speed that a clock may be set to: a day in a second, and no fleet keeps up with more.
MAX_SPEED = 100_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """An anchor and a speed."""

    wall: Instant
    cluster_time: Instant
    speed: float  # cluster seconds a wall second; 0 = paused

    def reading(self, wall: Instant) -> Instant:
        """Cluster time at a wall time; never before the anchor, should the wall clock be set back."""
        return self.cluster_time + int(max(0, wall - self.wall) * self.speed)

    def wall_for(self, cluster_time: Instant) -> Instant:
        """Wall time at which the clock will read `cluster_time`; the clock must be running."""
        return self.wall + int((cluster_time - self.cluster_time) / self.speed)

    @property
    def lockstep(self) -> bool:
        """Whether decisions are made at the fleet's time."""
        return self.speed > LOCKSTEP_SPEED


class Timed(Protocol):
    """What of a cluster's state its time follows from."""

    clock: Clock
    frontier: Instant  # cluster time of the simulated fleet's last fact


def cluster_now(state: Timed, wall: Instant) -> Instant:
    """The cluster time of a decision made at this wall time."""
    if state.clock.lockstep:
        return max(state.frontier, state.clock.cluster_time)
    return max(state.frontier, state.clock.reading(wall))
