"""What carries a simulated fleet through time: it follows the log, tells the log what happens, and keeps to the cluster's clock.

One turn takes in what was appended; then, if something is due, it lets it happen at its exact time and appends it as one batch. Above 60
times wall speed (`Clock.lockstep`) it then waits until the scheduling pass has dealt with the batch, so that decisions are made at the
fleet's own time; it does so, too, at each deadline of the pass, which it tells the log by the clock, so that no time passes unseen. A fleet
that cannot keep up sets the clock back to its own time: the lag stays bounded, and shows. Should the wall clock
be set back, cluster time goes on from where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from clusters.connectors.simulated.arrivals import Generator
from clusters.connectors.simulated.restore import restore
from clusters.domain.clock import Clock
from clusters.domain.events import Event, NewEvent
from clusters.domain.evolve import FLEET_SOURCE
from clusters.domain.ids import MILLISECOND, SECOND, Duration, Instant
from clusters.domain.inventory_events import ClockSet
from clusters.eventlog.log import wall_now
from clusters.eventlog.port import EventLog, Guard

#: Wall time that a fleet may be behind its clock before the clock is set back.
MAX_LAG = 2 * SECOND

#: In lockstep decisions are made at the fleet's time, so a fleet in which nothing happens tells the time this often (wall time).
TELL_TIME = 2 * SECOND

#: Longest wait between two looks at the log.
LOOK = 100 * MILLISECOND

#: Waits until the pass has dealt with these facts; with none, until it has dealt with a deadline.
Settle = Callable[[Sequence[NewEvent]], None]

#: The first time after a given one at which the pass has something to do though nothing happens.
Deadline = Callable[[Instant], Instant | None]


class Passes(NamedTuple):
    """The scheduling pass, as a fleet sees it."""

    settle: Settle
    deadline: Deadline = lambda _: None


class Driver:
    """Drives one fleet from the position at which it is made."""

    def __init__(
        self,
        log: EventLog,
        cluster: str,
        *,
        passes: Passes,
        guard: Guard | None = None,
        generator: Generator | None = None,
        wall: Callable[[], Instant] = wall_now,
    ) -> None:
        self._log = log
        self._cluster = cluster
        self._passes = passes
        self._guard = guard
        self._deadline: tuple[int, Instant | None] = (0, None)  # the position at which it was looked up, and what it was
        self._wall = wall
        self._cursor = ""
        self.lag: Duration = 0  # wall time behind the clock at the last batch
        first = next(log.read(cluster, 0, 1))
        with log.live(cluster).reading() as state:
            self.fleet = restore(
                state,
                created_at=first.occurred_at,
                about=lambda job: log.about(cluster, job),
                at=lambda seq: next(log.read(cluster, seq - 1, 1)),
                generator=generator,
            )
            self._position = state.seq
            self.clock: Clock = state.clock
        self._latest = self.fleet.told_at  # time of the latest event seen

    def turn(self) -> Duration:
        """Do what is to be done now; returns for how much wall time there is nothing to do, unless somebody appends something."""
        self.follow()
        if self.clock.speed <= 0:
            return LOOK
        wall = self._wall()
        reading = self.clock.reading(wall)
        if self._was_set_back(wall, reading):
            self.set_clock(self.clock.speed)
            return 0
        due = self.due
        if due is not None and due <= reading:
            self._happen(due)
            return 0
        if self.clock.lockstep and reading - self.fleet.told_at > TELL_TIME * self.clock.speed:
            self.set_clock(self.clock.speed)
        return LOOK if due is None else min(LOOK, int((due - reading) / self.clock.speed) + 1)

    def _was_set_back(self, wall: Instant, reading: Instant) -> bool:
        """Whether the wall clock is where it has been before: the fleet would stand still until that time comes again."""
        return self.clock.wall - wall > MAX_LAG or self.fleet.told_at - reading > MAX_LAG * self.clock.speed

    def play(self, until: Instant) -> None:
        """Let everything up to `until` happen as fast as it can, and set the clock to that time."""
        self.follow()
        while (due := self._first(self._pass_due())) is not None and due <= until:
            self._happen(due, hurry=True)
        self.set_clock(self.clock.speed, until)

    @property
    def due(self) -> Instant | None:
        """When something is to be done next: in the fleet or, in lockstep, by the pass."""
        return self._first(self._pass_due() if self.clock.lockstep else None)

    def _first(self, deadline: Instant | None) -> Instant | None:
        return min((due for due in (self.fleet.due, deadline) if due is not None), default=None)

    def _pass_due(self) -> Instant | None:
        """The next deadline of the pass."""
        if self._deadline[0] != self._position:
            self._deadline = (self._position, self._passes.deadline(self.fleet.told_at))
        return self._deadline[1]

    def follow(self) -> None:
        """Take in what was appended since."""
        for event in self._log.read(self._cluster, self._position):
            self._take(event)

    def set_clock(self, speed: float, cluster_time: Instant | None = None) -> None:
        """Let cluster time run on at this speed, from what it is now or from `cluster_time`."""
        wall = self._wall()
        time = self.clock.reading(wall) if cluster_time is None else cluster_time
        clock = ClockSet(wall=wall, cluster_time=max(time, self.fleet.told_at), speed=speed)
        self.fleet.told_at = clock.cluster_time
        self._append([NewEvent(clock, clock.cluster_time, FLEET_SOURCE, f"clock/{wall}/{clock.cluster_time}")])

    def _happen(self, due: Instant, *, hurry: bool = False) -> None:
        in_step = hurry or self.clock.lockstep
        deadline = self._pass_due() if in_step else None
        self.fleet.time = due
        observed = self.fleet.observe(self._cursor)
        if observed.facts:
            self._append(observed.facts)
        self._cursor = observed.cursor
        if deadline == due:
            self._tell_time(due)
            self._passes.settle(())
            self.follow()
        elif observed.facts and in_step:
            self._passes.settle(observed.facts)
            self.follow()
        if not hurry:
            self._mind_lag()

    def _tell_time(self, time: Instant) -> None:
        """Let the log know that the clock has come to `time`; it runs on as it did."""
        wall = self.clock.wall_for(time) if self.clock.speed > 0 else self.clock.wall
        clock = ClockSet(wall=wall, cluster_time=time, speed=self.clock.speed)
        self.fleet.told_at = max(self.fleet.told_at, time)
        self._append([NewEvent(clock, time, FLEET_SOURCE, f"deadline/{time}")])

    def _mind_lag(self) -> None:
        self.lag = max(0, self._wall() - self.clock.wall_for(self.fleet.told_at))
        if self.lag > MAX_LAG:
            self.set_clock(self.clock.speed, max(self.fleet.told_at, self._latest))

    def _append(self, facts: Sequence[NewEvent]) -> None:
        self._log.append_facts(self._cluster, facts, self._guard)
        self.follow()

    def _take(self, event: Event) -> None:
        self._position = event.seq
        self._latest = max(self._latest, event.occurred_at)
        if isinstance(event.payload, ClockSet):
            clock = event.payload
            self.clock = Clock(wall=clock.wall, cluster_time=clock.cluster_time, speed=clock.speed)
        self.fleet.follow(event)
