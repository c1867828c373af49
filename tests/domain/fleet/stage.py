"""A simulated cluster in memory, played as fast as it goes: the real log, the real decisions, the real fleet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusters.connectors.simulated.arrivals import Generator
from clusters.connectors.simulated.driver import Driver, Passes
from clusters.connectors.simulated.options import FleetOptions
from clusters.domain.commands import Command, RunPass
from clusters.domain.decision import Refusal
from clusters.domain.events import Event, NewEvent, Payload, PolicyActivated
from clusters.domain.ids import SECOND, Instant
from clusters.domain.inventory_events import ClockSet, ClusterCreated, NodeRegistered, RackRegistered
from clusters.domain.jobs import JobKind, JobRequest
from clusters.domain.policy import Policy
from clusters.eventlog.memory import MemoryLog
from clusters.eventlog.port import Committed
from clusters.eventlog.request import Request
from scheduling.domain.deadlines import next_deadline
from scheduling.domain.decide import decide

NAME = "stage"

#: Cluster time at which every stage begins.
START: Instant = 1_800_000_000 * SECOND


class Stage:
    """One cluster of racks with 18 nodes of 4 GPUs, and its fleet."""

    def __init__(self, racks: int, options: FleetOptions, *, speed: float = 3600.0, generator: Generator | None = None) -> None:
        self.wall: Instant = 5_000 * SECOND
        self.log = MemoryLog(lambda: self.wall)
        self.generator = generator
        payloads: list[Payload] = [
            ClusterCreated(name=NAME, connector="simulated", options=options.numbers()),
            ClockSet(wall=self.wall, cluster_time=START, speed=speed),
            PolicyActivated(version=1, policy=Policy(), reason="", by=""),
        ]
        for rack in (f"r{number + 1:03d}" for number in range(racks)):
            payloads.append(RackRegistered(rack=rack, block="b1", switch_trays=9))
            payloads += [NodeRegistered(node=f"{rack}-n{n + 1:02d}", rack=rack, domain=rack, gpus=4) for n in range(18)]
        self.log.create(NAME, [NewEvent(payload, START, "system", f"create/{n}") for n, payload in enumerate(payloads)])
        self.settled: list[tuple[NewEvent, ...]] = []
        self.driver = self.make_driver()

    def make_driver(self) -> Driver:
        return Driver(self.log, NAME, passes=Passes(self.settle, self.deadline), generator=self.generator, wall=lambda: self.wall)

    def deadline(self, after: Instant) -> Instant | None:
        with self.log.live(NAME).reading() as state:
            return next_deadline(state, after)

    def settle(self, facts: Sequence[NewEvent]) -> None:
        self.settled.append(tuple(facts))
        self.run_pass()

    def run_pass(self) -> None:
        while True:
            outcome = self.log.commit(NAME, Request(command=RunPass(), source="scheduler", request_id=None), decide)
            assert isinstance(outcome, Committed)
            if not outcome.more:
                return

    def do(self, command: Command, request_id: str) -> None:
        """A command of somebody, and the pass after it."""
        outcome = self.log.commit(NAME, Request(command=command, source="user:ada", request_id=request_id), decide)
        assert not isinstance(outcome, Refusal), outcome
        self.run_pass()

    def step(self) -> bool:
        """Let the wall clock come to the next thing that is due, and it happen."""
        self.driver.follow()
        due = self.driver.due
        if due is None:
            return False
        self.wall = max(self.wall, self.driver.clock.wall_for(due) + 1)
        self.driver.turn()
        return True

    def play(self, until: Instant) -> None:
        """Let everything up to `until` happen."""
        self.driver.follow()
        while (due := self.driver.due) is not None and due <= until:
            self.step()

    def restart(self) -> None:
        """Forget the fleet and make it anew from the log."""
        self.driver = self.make_driver()

    @property
    def events(self) -> list[Event]:
        return list(self.log.read(NAME))

    def told(self, *kinds: str) -> list[tuple[float, Payload]]:
        """(seconds after the start, payload) of the events of these kinds."""
        return [((event.occurred_at - START) / SECOND, event.payload) for event in self.events if event.kind in kinds]


def ask(nodes: int | None = None, *, run_s: int | None = 3600, **fields: Any) -> JobRequest:
    """A request for whole nodes, or for `gpus=` of one."""
    return JobRequest(**{"name": "work", "kind": JobKind.TRAINING, "nodes": nodes, "expected_run_s": run_s, **fields})
