"""Random stories: what happens, in which order, and how late it is told, follows from a seed alone.

Each step draws from a chance of its own. So a story from which steps are left out is otherwise the same, and what breaks can be made short.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from random import Random

from clusters.domain import health_events as health
from clusters.domain import inventory_events as inv
from clusters.domain.commands import (
    ApprovePlan,
    CancelJob,
    ChangePolicy,
    ChangePriority,
    Command,
    DropRoom,
    HoldJob,
    MarkNode,
    MarkSwitch,
    NodeVerb,
    ProposePlan,
    RejectPlan,
    ReleaseJob,
    ReportCheckpoint,
    RequestRoom,
    ResetBreaker,
    SetRackState,
    SubmitJob,
    SwitchVerb,
)
from clusters.domain.defrag import PlanStatus
from clusters.domain.errors import InvalidRequest
from clusters.domain.events import Payload
from clusters.domain.ids import HOUR, MINUTE, SECOND, Duration
from clusters.domain.racks import RackState
from clusters.domain.signal_events import SignalReceived
from clusters.domain.signals import SignalKind, SignalScope
from clusters.domain.state import Node
from scheduling.domain.deadlines import next_deadline
from scheduling.domain.defrag.cascade import first_plan
from scheduling.domain.defrag.plan import plan_of
from scheduling.domain.defrag_trigger import causes, problem_of
from scheduling.domain.trial import Trial
from tests.scenarios.breaking import chances
from tests.scenarios.breaking.asking import ask_why
from tests.scenarios.breaking.calm import come_to_rest
from tests.scenarios.breaking.engine import Engine
from tests.scenarios.breaking.ground import NAME, Ground
from tests.scenarios.breaking.inventory import change, leave

#: How often each step is drawn.
STEPS = {
    "submit": 14, "work": 22, "settle": 22, "wait": 10, "signal": 12, "burst": 2, "fact": 6, "operate": 5, "switch": 2, "rack": 2,
    "job": 6, "end": 6, "again": 4, "policy": 2, "clock": 1, "leave": 2, "change": 2, "plan": 5, "room": 1, "checkpoint": 3, "ask": 3,
}  # fmt: skip

GAPS: tuple[Duration, ...] = (0, 0, SECOND // 5, SECOND, 10 * SECOND, MINUTE, 5 * MINUTE, HOUR)


def _order(chance: Random) -> list[str]:
    """What happens: of some kinds much, of some little or nothing, so that stories differ."""
    weights = {name: weight * chance.choice((0, 1, 1, 4)) for name, weight in STEPS.items()}
    weights |= {name: STEPS[name] for name in ("submit", "work", "settle", "wait")}
    return chance.choices(list(weights), list(weights.values()), k=chance.choice((40, 120, 240)))


class Story:
    """A cluster to which the steps of one seed happen."""

    def __init__(self, seed: int) -> None:
        opening = Random(f"{seed}/opening")
        self.seed = seed
        self._specs = chances.shape(opening)
        self.ground = Ground(self._specs, chances.policy(opening), Random(f"{seed}/ground"))
        self.order = [*("submit",) * 8, "settle", "work", "work", *_order(opening)]
        self._chance = opening
        self._reports: list[Payload] = []  # facts so far, to be told again
        self._engine = Engine(self.ground)
        self._gone: list[inv.NodeRegistered] = []
        self._number = 0

    def tell(self, leave_out: frozenset[int] = frozenset()) -> None:
        """Let all of it happen, and the cluster come to rest."""
        for place, name in enumerate(self.order):
            if place in leave_out:
                continue
            self._chance = Random(f"{self.seed}/{place}")
            step: Callable[[], None] = getattr(self, f"_{name}")
            step()
        self._rest()
        if self.seed % 2:
            come_to_rest(self.ground, self._engine, self._specs)
        self.ground.prove()

    def digest(self) -> str:
        """Everything that the story leads to, in a word."""
        self.tell()
        events = [event.payload for event in self.ground.log.read(NAME)]
        return blake2b(repr(events).encode(), digest_size=16).hexdigest()

    # ---- what is drawn

    def _node(self) -> Node:
        return self._chance.choice(list(self.ground.state.nodes.values()))

    def _some_job(self) -> str | None:
        names = list(self.ground.state.jobs)
        return self._chance.choice(names) if names else None

    def _fact(self) -> None:
        """A monitor says something of a node, now, late or early."""
        node = self._node().name
        choice = self._chance.choice
        facts: list[Payload] = [
            health.NodeFailed(node=node, reason="xid", fencing=choice((True, False))),
            health.NodeUnreachable(node=node, reason="silent"),
            health.NodeSuspected(node=node, reason="hot"),
            health.NodeDegraded(node=node, reason="link"),
            health.NodeRecovered(node=node, reason="well"),
            health.NodeQuarantined(node=node, owner="ops", reason="odd", exit_rule="a person"),
            health.NodeReleased(node=node, reason="fine"),
            health.NodeDraining(node=node, reason="soon"),
            health.NodeUndrained(node=node, reason="not yet"),
            health.RepairStarted(node=node),
            health.RepairFinished(node=node),
        ]
        self._say(choice(facts))

    def _say(self, *facts: Payload) -> None:
        self._reports += facts
        late = self._chance.choice((0, 0, 0, SECOND, MINUTE, HOUR, -HOUR))
        source = self._chance.choice(("monitor", "agent", "user:op"))
        self._number += 1
        number = max(0, self._number * 10 - self._chance.choice((0, 0, 50))) if source == "agent" else None
        self.ground.tell(*facts, at=self.ground.now - late, source=source, source_seq=number)

    def _signal(self) -> None:
        self._say(*(self._heard(self._node().name) for _ in range(self._chance.choice((1, 1, 2)))))

    def _heard(self, node: str) -> SignalReceived:
        choice = self._chance.choice
        kind = choice(list(SignalKind))
        check = choice(("xid", "nvswitch", "ready"))
        lasting, scope = choice((True, False)), choice(list(SignalScope))
        component = choice(("", "gpu 1", "gpu 2"))
        return SignalReceived(node=node, code=f"{check}:1", kind=kind, scope=scope, check=check, component=component, lasting=lasting)

    def _burst(self) -> None:
        """Neighbours say the same at once."""
        names = list(self.ground.state.nodes)
        first = self._chance.randrange(len(names))
        heard = self._heard(names[first])
        for name in names[first : first + self._chance.choice((2, 3, 6))]:
            self._say(replace(heard, node=name))

    def _again(self) -> None:
        """Something from before is told once more."""
        told = [*self._reports, *self._engine.told]
        if told:
            self._say(self._chance.choice(told))

    # ---- people

    def _submit(self) -> None:
        jobs = list(self.ground.state.jobs)
        for _ in range(self._chance.choice((1, 2, 4))):
            try:
                request = chances.request(self._chance, self.ground.now, jobs)
            except InvalidRequest:
                continue
            self.ground.do(SubmitJob(request=request, by="ada"))

    def _operate(self) -> None:
        self.ground.do(MarkNode(node=self._node().name, verb=self._chance.choice(list(NodeVerb)), by="op"), "user:op")

    def _switch(self) -> None:
        chip = self._chance.choice((None, 1, 2))
        rack = self._chance.choice(sorted(self.ground.state.racks))
        verb = self._chance.choice(list(SwitchVerb))
        self.ground.do(MarkSwitch(rack=rack, tray=self._chance.randint(1, 9), verb=verb, by="op", chip=chip), "user:op")

    def _rack(self) -> None:
        state = self._chance.choice(list(RackState))
        until = self.ground.now + self._chance.choice((MINUTE, HOUR)) if state is RackState.NO_NEW_LONG_JOBS else None
        rack = self._chance.choice(sorted(self.ground.state.racks))
        self.ground.do(SetRackState(rack=rack, state=state, by="op", until=until), "user:op")

    def _job(self) -> None:
        name = self._some_job()
        if name is not None:
            priority = self._chance.randint(-5, 5)
            commands: list[Command] = [
                CancelJob(job=name, by="ada"),
                HoldJob(job=name, by="ada"),
                ReleaseJob(job=name, by="ada"),
                ChangePriority(job=name, priority=priority, by="ada"),
            ]
            self.ground.do(self._chance.choice(commands))

    def _policy(self) -> None:
        state = self.ground.state
        command = ChangePolicy(policy=chances.policy(self._chance), expected=state.policy_version, by="ada", reason="a whim")
        self.ground.do(command)

    def _room(self) -> None:
        count = self._chance.choice((1, 2))
        self.ground.do(self._chance.choice((RequestRoom(domains=count, by="op"), DropRoom(by="op"), ResetBreaker(by="op"))), "user:op")

    def _checkpoint(self) -> None:
        name = self._some_job()
        if name is not None:
            generation = self._chance.choice((None, self.ground.state.jobs[name].generation, 1))
            at = self._chance.choice((None, self.ground.now - MINUTE, self.ground.now + MINUTE))
            step = self._chance.randrange(100)
            self.ground.do(ReportCheckpoint(job=name, step=step, by="ada", at=at, generation=generation))

    def _ask(self) -> None:
        ask_why(self.ground, self._chance)

    # ---- plans

    def _plan(self) -> None:
        """Whatever calls for a plan gets one, and somebody decides on those there are."""
        state, now = self.ground.state, self.ground.now
        for cause in list(causes(state, now))[:2]:
            trial = Trial(state, now)
            problem = problem_of(trial, cause)
            solution = None if problem is None else first_plan(problem)
            if problem is not None and solution is not None:
                self.ground.do(ProposePlan(plan=plan_of(trial, problem, solution), reason=cause.reason), "scheduler")
        for name in [known.id for known in self.ground.state.defrag.values() if known.status is PlanStatus.PROPOSED]:
            decided = self._chance.random()
            if decided < 0.6:
                self.ground.do(ApprovePlan(plan=name, by="op"), "user:op")
            elif decided < 0.7:
                self.ground.do(RejectPlan(plan=name, by="op"), "user:op")
        self.ground.review()

    # ---- time and the engine

    def _settle(self) -> None:
        self.ground.settle()

    def _wait(self) -> None:
        """Some time goes by; or all of it until the pass has something to do."""
        due = next_deadline(self.ground.state, self.ground.now)
        gap, clock = self._chance.choice(GAPS), self.ground.state.clock
        if due is not None and self._chance.random() < 0.5 and clock.speed > 0:
            self.ground.wall = max(self.ground.wall, clock.wall_for(due) + 1)
        else:
            self.ground.wall += gap

    def _clock(self) -> None:
        speed = self._chance.choice((0.0, 0.5, 1.0, 1.0, 30.0, 60.0))
        self.ground.tell(inv.ClockSet(wall=self.ground.wall, cluster_time=self.ground.now, speed=speed), source="user:op")

    def _work(self) -> None:
        self._engine.work(self._chance)
        name = self._some_job()
        if name is not None and self._chance.random() < 0.2:
            self._engine.lose(name, self._chance)

    def _end(self) -> None:
        name = self._some_job()
        if name is not None:
            self._engine.end(name, self._chance)

    # ---- the inventory

    def _leave(self) -> None:
        leave(self.ground, self._chance, self._gone)

    def _change(self) -> None:
        change(self.ground, self._chance)

    # ---- the end

    def _rest(self) -> None:
        """The engine catches up, and everything that is due comes to pass."""
        for _ in range(40):
            reported = self._engine.catch_up()
            if not self.ground.settle() and not reported:
                return
