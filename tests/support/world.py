"""A cluster in memory that decides, folds and runs: a log in a list, the real decisions, and a connector that obeys at once.

Every event is checked against the invariants as it is folded, so a story told with a World is also a test of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clusters.domain import job_events as ev
from clusters.domain.commands import Command, MarkNode, NodeVerb, RunPass, SubmitJob
from clusters.domain.decision import Decision, Refusal
from clusters.domain.events import Event, Payload, PolicyActivated
from clusters.domain.health_events import NodeChecked, NodeCheckRequested
from clusters.domain.inventory_events import ClusterCreated, NodeRegistered, RackRegistered
from clusters.domain.jobs import JobKind, JobRequest
from clusters.domain.policy import Policy
from clusters.domain.state import ClusterState, Job
from scheduling.domain.decide import decide
from scheduling.domain.trial import Trial
from scheduling.domain.turns import in_order
from tests.domain.clusters.logs import Log

#: (rack, block, domain or None, nodes, GPUs a node)
Spec = tuple[str, str, str | None, int, int]


def ask(nodes: int | None = None, **fields: Any) -> JobRequest:
    """A request for whole nodes, or for `gpus=` of one."""
    return JobRequest(**{"name": "work", "kind": JobKind.TRAINING, "nodes": nodes, **fields})


def racks(count: int, nodes: int = 18, gpus: int = 4, per_block: int = 8) -> list[Spec]:
    """Racks r1, r2, ... that are domains, in blocks b1, b2, ..."""
    return [(f"r{n}", f"b{(n - 1) // per_block + 1}", f"r{n}", nodes, gpus) for n in range(1, count + 1)]


def inventory(specs: Iterable[Spec]) -> list[Payload]:
    """The events that register racks and nodes; nodes of a domain are numbered through: d1-n1, d1-n2, ..."""
    events: list[Payload] = []
    numbers: dict[str, int] = {}
    for rack, block, domain, nodes, gpus in specs:
        events.append(RackRegistered(rack=rack, block=block, switch_trays=9))
        for _ in range(nodes):
            stem = domain or f"{rack}-lone"
            numbers[stem] = numbers.get(stem, 0) + 1
            events.append(NodeRegistered(node=f"{stem}-n{numbers[stem]}", rack=rack, domain=domain, gpus=gpus))
    return events


class World:
    """One cluster."""

    def __init__(self, specs: Iterable[Spec], policy: Policy | None = None, *, checked: bool = True) -> None:
        self.log = Log()
        self.checked = checked
        self.checks = True  # the connector finds that repaired nodes work
        self.now = 0
        self.log.add(ClusterCreated(name="test", connector="simulated"))
        self.log.add(PolicyActivated(version=1, policy=policy or Policy(), reason="", by="test"))
        self.log.add(*inventory(specs))
        self._told = len(self.log.events)

    @property
    def state(self) -> ClusterState:
        return self.log.state

    def job(self, name: str) -> Job:
        return self.state.jobs[name]

    def add(self, *payloads: Payload, source: str = "fleet") -> list[Event]:
        """Fold facts, each checked."""
        start = len(self.log.events)
        for payload in payloads:
            self.log.add(payload, at=self.now, source=source)
            if self.checked:
                self.log.sound()
        return self.log.events[start:]

    def do(self, command: Command) -> Decision | Refusal:
        """Decide and fold."""
        outcome = decide(self.state, command, self.now)
        if isinstance(outcome, Decision):
            by = getattr(command, "by", None)
            self.add(*outcome.events, source="scheduler" if by is None else f"user:{by}")
        return outcome

    def submit(self, request: JobRequest) -> str:
        """The id of the job; a refusal fails the test."""
        outcome = self.do(SubmitJob(request=request, by="ada"))
        assert isinstance(outcome, Decision), outcome
        assert isinstance(outcome.events[-1], ev.JobSubmitted)
        return f"j{self.state.seq:06d}"

    def mark(self, node: str, verb: NodeVerb) -> Decision | Refusal:
        return self.do(MarkNode(node=node, verb=verb, by="op"))

    def order(self) -> list[str]:
        """The waiting jobs in the order of their turns."""
        return in_order(Trial(self.state, self.now))

    def run_pass(self) -> list[Payload]:
        """One pass to its end."""
        events: list[Payload] = []
        more = True
        while more:
            outcome = self.do(RunPass())
            assert isinstance(outcome, Decision)
            events += outcome.events
            more = outcome.more
        return events

    def settle(self) -> list[Payload]:
        """Passes and the connector in turn until nothing happens any more; what the passes decided."""
        events: list[Payload] = []
        while True:
            decided, done = self.run_pass(), self.connect()
            events += decided
            if not decided and not done:
                return events

    def run(self, request: JobRequest) -> Job:
        """Submit, place and start."""
        name = self.submit(request)
        self.settle()
        return self.job(name)

    def finish(self, name: str) -> None:
        """The work of the job ends well and stops everywhere."""
        job = self.job(name)
        self.add(ev.JobFinished(job=name, generation=job.generation))
        if job.held_nodes:
            self.add(ev.WorkStopped(job=name, generation=job.generation, nodes=tuple(job.held_nodes)))

    def connect(self) -> list[Event]:
        """Do what the events since the last call ask of a connector, and report it."""
        asked, self._told = self.log.events[self._told :], len(self.log.events)
        done = [event for event in asked for fact in self._effects(event.payload) for event in self.add(fact)]
        self._told = len(self.log.events)
        return done

    def _effects(self, event: Payload) -> Iterable[Payload]:
        match event:
            case ev.JobPlaced():
                nodes = tuple(name for part in event.slices for name in part.nodes)
                yield ev.WorkStarted(job=event.job, generation=event.generation, nodes=nodes)
            case ev.NodeSwapped():
                yield ev.WorkStarted(job=event.job, generation=event.generation, nodes=(event.new,))
            case ev.SliceMoved():
                yield ev.WorkStarted(job=event.job, generation=event.generation, nodes=event.assignment.nodes)
            case ev.StopRequested():
                yield ev.WorkStopped(job=event.job, generation=event.generation, nodes=event.nodes)
            case NodeCheckRequested() if self.checks:
                yield NodeChecked(node=event.node, number=event.number, passed=True, detail="the test says so")
