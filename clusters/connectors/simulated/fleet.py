"""The simulated fleet: a connector whose engine is a model of machines, their work, and their users.

It is event-driven and knows no clock: `due` says when something happens next, and `step` lets it happen, at that time exactly. What it
tells is what it takes in itself, by the same handlers that take in a log on a restart: a fleet made anew from its log goes on where it
stopped. Engine time, `time`, is set by whoever drives it; effects work from that time on.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from clusters.connectors.base import Capabilities, NodeSight, Observation, Slot, Work
from clusters.connectors.simulated import hearing
from clusters.connectors.simulated.arrivals import Arrivals, Generator
from clusters.connectors.simulated.machines import Machines
from clusters.connectors.simulated.options import FleetOptions
from clusters.connectors.simulated.run import Told
from clusters.connectors.simulated.truth import users_truth
from clusters.connectors.simulated.workload import Workload
from clusters.domain.events import Event, NewEvent
from clusters.domain.evolve import FLEET_SOURCE
from clusters.domain.ids import Duration, Instant


class SimulatedFleet:
    """See base.Connector."""

    machines: Machines
    workload: Workload
    arrivals: Arrivals

    def __init__(self, options: FleetOptions, generator: Generator | None = None) -> None:
        self.options = options
        self.time: Instant = 0  # engine time
        self.told_at: Instant = 0  # time of the last step: no fact is older than one told before
        self.machines = Machines(options)
        self.workload = Workload(options, self.machines.is_down)
        self.arrivals = Arrivals(generator)
        self._cordoned: set[str] = set()
        self._journal: list[NewEvent] = []  # told, not yet acknowledged
        self._acknowledged = 0

    # ---- effects

    def capabilities(self) -> Capabilities:
        return Capabilities(checkpoint=True, cordon=True, check=True)

    def start(self, work: Work, generation: int, slots: Sequence[Slot]) -> None:
        if self.workload.work_of(work.job) is None:
            self.know(work, held=True)
        self.workload.start(work.job, generation, slots, self.time)

    def stop(self, job: str, generation: int, nodes: Sequence[str], grace: Duration | None = None) -> None:
        self.workload.stop(job, generation, nodes, self.time, grace)

    def checkpoint(self, job: str) -> None:
        self.workload.save(job, self.time)

    def cordon(self, node: str) -> None:
        self._cordoned.add(node)

    def uncordon(self, node: str) -> None:
        self._cordoned.discard(node)

    def check(self, node: str, number: int) -> None:
        self.machines.check(node, number, self.time)

    def look(self, node: str) -> NodeSight:
        known = node in self.machines
        return NodeSight(
            known=known,
            up=known and not self.machines.is_down(node),
            cordoned=node in self._cordoned,
            jobs=self.workload.jobs_on(node),
        )

    # ---- facts

    def observe(self, cursor: str) -> Observation:
        """Let happen what is due by engine time; the cursor counts the facts taken."""
        taken = int(cursor or 0) - self._acknowledged
        if taken > 0:
            del self._journal[:taken]
            self._acknowledged += taken
        while (due := self.due) is not None and due <= self.time:
            self._journal.extend(self.step())
        return Observation(facts=tuple(self._journal), cursor=str(self._acknowledged + len(self._journal)))

    @property
    def waiting(self) -> Collection[Work]:
        """The jobs that want to be placed."""
        return self.workload.waiting.values()

    @property
    def due(self) -> Instant | None:
        """When something happens next; never before what happened last."""
        dues = (self.machines.due, self.workload.due, self.arrivals.due(self.waiting))
        first = min((due for due in dues if due is not None), default=None)
        return None if first is None else max(first, self.told_at)

    def step(self) -> list[NewEvent]:
        """Let everything happen that is due next, at one instant, and tell of it."""
        at = self.due
        if at is None:
            return []
        self.told_at = at
        facts = [self._tell(told, at) for told in self.machines.facts(at)]
        while work := self.workload.facts(at):
            facts += [self._tell(told, at) for told in work]
        submissions = self.arrivals.facts(at, self.waiting)
        for fact in submissions:
            hearing.take_in(self, fact.payload, at)
        return facts + submissions

    def _tell(self, told: Told, at: Instant) -> NewEvent:
        source_id, payload = told
        hearing.tell(self, payload, at)
        return NewEvent(payload, at, FLEET_SOURCE, source_id)

    # ---- what it learns

    def follow(self, event: Event) -> None:
        """Something stands in the log, whoever told it. What the fleet told itself is no news, unless something else came first."""
        self.time = event.occurred_at
        hearing.take_in(self, event.payload, event.occurred_at, event.seq)

    def resume(self, frontier: Instant, created_at: Instant) -> None:
        """All that was to happen up to `frontier` has happened."""
        self.told_at = self.time = max(frontier, created_at)
        if self.machines.faults is not None:
            self.machines.faults.skip_to(frontier)

    def know(self, work: Work, *, held: bool) -> None:
        """There is such a job; its fate is known from here on."""
        truth = self.arrivals.truth_of(work, self.time) or users_truth(self.options.seed, work)
        self.workload.submitted(work, truth, held=held)
