"""A cluster in memory to which anything may happen, and which is looked at after each event.

All goes through the log, as it does in the product: facts by `append_facts`, commands by `commit`. Beside it the events are folded once
more, one by one, and each state is held to the invariants; now and then that fold is taken apart and put together again from its dump, as a
restart from a snapshot does it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random

from clusters.domain import job_events as ev
from clusters.domain.clock import cluster_now
from clusters.domain.commands import Command, ReviewPlans, RunPass
from clusters.domain.decision import Refusal
from clusters.domain.dump import dump_state, load_state
from clusters.domain.errors import BrokenInvariant
from clusters.domain.events import Event, NewEvent, Payload, PolicyActivated
from clusters.domain.evolve import evolve
from clusters.domain.health import SCHEDULER
from clusters.domain.ids import SECOND, Instant
from clusters.domain.invariants import check
from clusters.domain.inventory_events import ClockSet, ClusterCreated
from clusters.domain.policy import Policy
from clusters.domain.state import ClusterState
from clusters.eventlog.memory import MemoryLog
from clusters.eventlog.port import Committed
from clusters.eventlog.request import Request
from clusters.eventlog.verify import verify
from scheduling.domain.decide import decide
from tests.support.world import Spec, inventory

NAME = "broken"
START: Instant = 1_800_000_000 * SECOND

#: Passes after which a cluster to which nothing happens has nothing left to decide.
MOST_PASSES = 60


class Ground:
    """One cluster."""

    def __init__(self, specs: Sequence[Spec], policy: Policy, chance: Random) -> None:
        self.wall: Instant = START
        self.log = MemoryLog(lambda: self.wall)
        self.shadow = ClusterState()
        self._chance = chance
        self._told = 0
        self._checked = False  # while the inventory is registered there is nothing to break
        opening: list[Payload] = [
            ClusterCreated(name=NAME, connector="local"),
            ClockSet(wall=START, cluster_time=START, speed=1.0),
            PolicyActivated(version=1, policy=policy, reason="", by="test"),
            *inventory(specs),
        ]
        self.log.create(NAME, [NewEvent(payload, START, "system", f"create/{place}") for place, payload in enumerate(opening)])
        self._follow()
        self._checked = True

    @property
    def state(self) -> ClusterState:
        """What the log's own fold has come to."""
        return self.log.live(NAME).catch_up()

    @property
    def now(self) -> Instant:
        """Cluster time, as decisions are made at it."""
        return cluster_now(self.state, self.wall)

    def tell(self, *payloads: Payload, at: Instant | None = None, source: str = "monitor", source_seq: int | None = None) -> None:
        """Facts of a source; `source_seq` counts on from one to the next."""
        facts = []
        for place, payload in enumerate(payloads):
            self._told += 1
            number = None if source_seq is None else source_seq + place
            facts.append(NewEvent(payload, max(0, self.now if at is None else at), source, f"fact/{self._told}", number))
        self.log.append_facts(NAME, facts)
        self._follow()

    def do(self, command: Command, source: str = "user:ada") -> Committed | Refusal:
        """A command of somebody."""
        outcome = self.log.commit(NAME, Request(command=command, source=source, request_id=None), decide)
        self._follow()
        return outcome

    def settle(self) -> list[Event]:
        """Pass after pass until nothing is left to decide; what they decided."""
        decided: list[Event] = []
        for _ in range(MOST_PASSES):
            outcome = self.do(RunPass(), SCHEDULER)
            assert isinstance(outcome, Committed), outcome
            decided += outcome.events
            if not outcome.events:
                assert not outcome.more, "a pass that has done nothing says that there is more to do"
                return decided
        raise BrokenInvariant(f"passes do not come to an end: the last events are {[event.kind for event in decided[-9:]]}")

    def review(self) -> None:
        """Plans that nobody has decided on are looked at again."""
        self.do(ReviewPlans(), SCHEDULER)

    def prove(self) -> None:
        """The whole log replays, and what was derived from it agrees with it."""
        report = verify(self.log, NAME, decide)
        assert not report.differences, report.differences[:3]
        assert dump_state(self.shadow) == dump_state(self.state), "folded once more, the state is another"

    def sound(self) -> None:
        """The state that decisions are made on, and its dense part, hold to the invariants as well."""
        if broken := check(self.state):
            raise BrokenInvariant("; ".join(broken))

    # ---- each event

    def _follow(self) -> None:
        for event in self.log.read(NAME, self.shadow.seq):
            _sound_before(self.shadow, event)
            evolve(self.shadow, event)
            broken = check(self.shadow) if self._checked else []
            if broken:
                raise BrokenInvariant(f"after event {event.seq}, {event.kind}: {'; '.join(broken)}")
            if self._chance.random() < 0.02:
                self._restart()
        self._compare_claims()

    def _restart(self) -> None:
        """The fold goes on from its dump, as it comes back from a store."""
        dump = dump_state(self.shadow)
        again = load_state(json.loads(json.dumps(dump)))
        assert dump_state(again) == dump, "the state comes back from its dump as another"
        self.shadow = again

    def _compare_claims(self) -> None:
        claimed = {gpu: job for gpu, (job, _) in self.log.claims(NAME).items()}
        held = {
            (node.name, gpu): job
            for node in self.shadow.nodes.values()
            for job, mask in ([(node.job, (1 << node.gpus) - 1)] if node.job else node.shares.items())
            for gpu in range(node.gpus)
            if mask >> gpu & 1
        }
        differing = sorted(gpu for gpu in claimed.keys() | held.keys() if claimed.get(gpu) != held.get(gpu))
        if differing:
            gpu = differing[0]
            raise BrokenInvariant(f"GPU {gpu} is held by {held.get(gpu)}, and claimed by {claimed.get(gpu)}, at {self.shadow.seq}")


def _sound_before(state: ClusterState, event: Event) -> None:
    """What must hold of an event in the state that it is folded into."""
    match event.payload:
        case ev.JobPlaced() as placed:
            assert placed.generation == state.jobs[placed.job].generation + 1
            given = [name for part in placed.slices for name in part.nodes]
        case ev.NodeSwapped() as swapped:
            assert swapped.generation == state.jobs[swapped.job].generation + 1
            assert state.jobs[swapped.job].slices[swapped.slice].lost[swapped.slot] == swapped.old
            given = [swapped.new]
        case ev.SliceMoved() as moved:
            job = state.jobs[moved.job]
            assert moved.generation == job.generation + 1
            assert len(moved.assignment.nodes) == len(job.slices[moved.slice].nodes), "a slice keeps its slots when it moves"
            given = list(moved.assignment.nodes)
        case ev.WorkLost() as lost:
            assert min(lost.rollback_gpu_s, lost.stall_gpu_s) >= 0
            return
        case _:
            return
    bad = [name for name in given if not state.nodes[name].placeable]
    assert not bad, f"event {event.seq}, {event.kind}, gives {bad}, which may take no work"
