"""Following a trace that is played."""

from __future__ import annotations

from collections import Counter

from clusters.connectors.lease import driven_at
from clusters.domain.ids import DAY, SECOND, Instant
from clusters.domain.inventory_events import ArrivalsPlanned
from clusters.eventlog.log import wall_now
from clusters.eventlog.store import default_log
from scheduling.simulator.report import ClusterReport


class Watch:
    """The jobs of one plan, read from the log as it grows."""

    def __init__(self, cluster: str, plan: str) -> None:
        self.report = ClusterReport()
        self._cluster = cluster
        self._plan = plan
        self._position = 0
        self._planned = 0
        self._base: Instant | None = None

    def look(self) -> bool:
        """Read on; True once every job of the plan has ended."""
        for event in default_log().read(self._cluster, self._position):
            self._position = event.seq
            self.report.take(event)
            payload = event.payload
            if isinstance(payload, ArrivalsPlanned) and payload.plan == self._plan:
                self._planned += len(payload.items)
                self._base = payload.base if self._base is None else self._base
        return self._states()["ended"] == self._planned

    def _states(self) -> Counter[str]:
        stories = [story for story in self.report.stories.values() if story.arrival.startswith(f"{self._plan}:")]
        return Counter("ended" if story.outcome else "waiting" if story.placed_at is None else "running" for story in stories)

    def line(self) -> str:
        """One line on how far it is."""
        states = self._states()
        come = states.total()
        lease = driven_at(self._cluster, wall_now())
        lag = "nobody drives the fleet!" if lease is None else f"lag {lease.lag / SECOND:.1f} s"
        day = (self.report.last - (self._base or self.report.last)) / DAY
        counts = self.report.counts
        return (
            f"day {day:5.2f}: {come}/{self._planned} submitted, {states['waiting']:4d} waiting, {states['running']:4d} running, "
            f"{states['ended']:5d} ended, {counts['swaps']} swaps, {counts['moves']} moves, {lag} "
        )
