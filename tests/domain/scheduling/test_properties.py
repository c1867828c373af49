"""Whatever happens, in whatever order: the invariants hold after each event, and decisions are sound.

Random clusters of all the shapes there are, random commands of users and operators, and a connector whose reports come late, twice, of old
generations, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusters.domain import health_events as health
from clusters.domain import job_events as ev
from clusters.domain.commands import CancelJob, ChangePriority, HoldJob, NodeVerb, ReleaseJob, RunPass
from clusters.domain.constraints import JobPart, Layer, LevelMode
from clusters.domain.decision import Decision
from clusters.domain.dump import dump_state, load_state
from clusters.domain.events import Payload
from clusters.domain.inventory_events import NodeAbsent, NodeRemoved
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.setting import SparesScope
from clusters.domain.slices import cluster_slice, is_small, parts_of_slices, whole_nodes
from clusters.domain.space import Space
from scheduling.domain.decide import decide
from scheduling.domain.passes import settle
from scheduling.domain.queue import place_waiting
from scheduling.domain.recovery import recover
from scheduling.domain.reservations import expire, make_way
from scheduling.domain.trial import Trial
from tests.domain.scheduling.words import sizes_of
from tests.support.world import Spec, World, ask, racks

SHAPES: dict[str, list[Spec]] = {
    "single nodes of 8 GPUs": [(f"h{n}", f"b{n // 4}", f"h{n}", 1, 8) for n in range(9)],
    "racks of 9": racks(4, nodes=9, per_block=2),
    "racks of 18": racks(3, per_block=2),
    "one domain of 72 over four racks": [(f"r{n}", "b1", "d1", 18, 4) for n in range(4)],
    "two domains in a rack": [("r1", "b1", "d1", 9, 4), ("r1", "b1", "d2", 9, 4), ("r2", "b2", "d3", 18, 4)],
    "a domain over two racks, and nodes without one": [("r1", "b1", "d1", 9, 4), ("r2", "b2", "d1", 9, 4), ("r3", "b2", None, 2, 4)],
}

REQUESTS: list[JobRequest] = [
    ask(1),
    ask(2, spares=0),
    ask(3, priority=3),
    ask(8),
    ask(9, held=True),
    ask(16),
    ask(20),
    ask(32, spares=1),
    ask(12, slice_size=4, max_slice=4),
    ask(7, slice_size=3, tail=True),
    ask(gpus=1),
    ask(gpus=3),
    ask(gpus=12),
    ask(4, exclusive=True),
    ask(gpus=2, exclusive=True),
    ask(20, exclusive=True, spares=0),
    ask(18, level="domain", mode=LevelMode.REQUIRED),
    ask(12, max_slice=4, level="block", mode=LevelMode.REQUIRED),
    ask(12, slice_size=2, max_slice=2, layers=(Layer(level="block", size=4),)),
    ask(
        10, parts=(JobPart(name="trainer", nodes=6, max_slice=3, level="block", mode=LevelMode.REQUIRED), JobPart(name="rollout", nodes=4))
    ),
]

POLICIES = [Policy(), Policy(slice_size=8, min_spares=1), Policy(spares_scope=SparesScope.ALL), Policy(target_spares=0)]

Step = tuple[str, int, int]
steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["submit", "submit", "pass", "pass", "work", "work", "fail", "probe", "repair", "mark", "end", "job", "again", "leave"]
        ),
        st.integers(0, 200),
        st.integers(0, 200),
    ),
    max_size=40,
)


class Story:
    """A world to which steps happen."""

    def __init__(self, shape: str, policy: Policy) -> None:
        self.world = World(SHAPES[shape], policy)
        self.reports: list[Payload] = []  # facts so far, to be repeated
        self.steps: dict[str, Callable[[int, int], None]] = {
            "submit": self.submit,
            "pass": self.run_pass,
            "work": self.work,
            "fail": lambda a, _: self.mark(a, NodeVerb.FAIL),
            "burst": self.burst,
            "probe": self.probe,
            "repair": self.repair,
            "mark": lambda a, b: self.mark(a, list(NodeVerb)[b % len(NodeVerb)]),
            "end": self.end,
            "job": self.command,
            "again": self.again,
            "leave": self.leave,
        }

    def tell(self, *facts: Payload) -> None:
        self.reports += facts
        self.world.add(*facts)

    def node(self, number: int) -> str:
        names = list(self.world.state.nodes)
        return names[number % len(names)]

    def job(self, number: int) -> str | None:
        names = list(self.world.state.jobs)
        return names[number % len(names)] if names else None

    def submit(self, number: int, _: int) -> None:
        self.tell(ev.JobSubmitted(request=REQUESTS[number % len(REQUESTS)], submitted_by="trace"))

    def work(self, number: int, late: int) -> None:
        """The connector reports some nodes of a job as started or stopped, perhaps under an old generation."""
        name = self.job(number)
        if name is None:
            return
        job = self.world.job(name)
        nodes = tuple(sorted(job.held_nodes))[: 1 + late % 20]
        generation = max(0, job.generation - late % 3)
        stopping = job.holders_stop or bool(job.leaving)
        report = ev.WorkStopped if stopping or late % 7 == 0 else ev.WorkStarted
        self.tell(report(job=name, generation=generation, nodes=nodes))

    def mark(self, number: int, verb: NodeVerb) -> None:
        self.world.mark(self.node(number), verb)

    def burst(self, number: int, many: int) -> None:
        """Nodes side by side fail at once, beyond what spares can mend."""
        for place in range(number, number + 2 + many % 4):
            self.mark(place, NodeVerb.FAIL)

    def probe(self, number: int, kind: int) -> None:
        node = self.node(number)
        facts: list[Payload] = [
            health.NodeFailed(node=node, reason="xid"),
            health.NodeUnreachable(node=node, reason="silent"),
            health.NodeSuspected(node=node, reason="hot"),
            health.NodeDegraded(node=node, reason="link"),
            health.NodeRecovered(node=node, reason="well"),
        ]
        self.tell(facts[kind % len(facts)])

    def repair(self, number: int, _: int) -> None:
        self.tell(health.RepairFinished(node=self.node(number)))

    def end(self, number: int, how: int) -> None:
        name = self.job(number)
        if name is not None:
            job = self.world.job(name)
            nodes = tuple(job.held_nodes)
            self.tell(ev.JobFinished(job=name, generation=job.generation - how % 2))
            if name in self.world.state.jobs and how % 3:
                self.tell(ev.WorkStopped(job=name, generation=job.generation, nodes=nodes))

    def command(self, number: int, which: int) -> None:
        name = self.job(number)
        if name is not None:
            commands = (
                CancelJob(job=name, by="ada"),
                HoldJob(job=name, by="ada"),
                ReleaseJob(job=name, by="ada"),
                ChangePriority(job=name, priority=which - 5, by="ada"),
            )
            self.world.do(commands[which % 4])

    def again(self, number: int, _: int) -> None:
        """A report from before comes once more."""
        if self.reports:
            fact = self.reports[number % len(self.reports)]
            if not isinstance(fact, ev.JobSubmitted):
                self.world.add(fact)

    def leave(self, number: int, how: int) -> None:
        node = self.node(number)
        if how % 10 == 0 and len(self.world.state.nodes) > 1:
            self.world.add(NodeRemoved(node=node, reason="sold"))
        elif how % 10 < 3:
            self.tell(NodeAbsent(node=node))

    def run_pass(self, _: int, __: int) -> None:
        """Decide step by step beside the fold, and compare the space decided on with the space folded."""
        before = dump_state(self.world.state)
        assert decide(load_state(before), RunPass(), 0) == decide(self.world.state, RunPass(), 0)
        trial = Trial(self.world.state, 0)
        events: Sequence[Payload] = [
            *(event for step in settle(self.world.state) for event in step),
            *(event for step in recover(trial) for event in step),
            *(event for step in expire(trial) for event in step),
            *(event for step in make_way(trial) for event in step),
            *place_waiting(trial),
        ]
        assert dump_state(self.world.state) == before
        for event in events:
            self.check(event)
            self.world.add(event, source="scheduler")
            self.tied()
        for field in Space.COMPARED:
            kept, tried = getattr(self.world.state.space, field), getattr(trial.space, field)
            if field == "wants":
                kept, tried = [sorted(map(str, want)) for want in kept], [sorted(map(str, want)) for want in tried]
            assert kept == tried, field
        outcome = self.world.do(RunPass())
        assert isinstance(outcome, Decision)
        assert not [
            event for event in outcome.events if isinstance(event, ev.NodeSwapped | ev.SliceMoved | ev.SliceStalled | ev.JobBlocked)
        ]

    def check(self, event: Payload) -> None:
        """What must hold of a decision's event in the state that it is folded into."""
        state = self.world.state
        match event:
            case ev.JobPlaced():
                request, size = state.jobs[event.job].request, cluster_slice(state.topology, state.policy)
                nodes = whole_nodes(request, state.topology.usual_gpus)
                sizes = sizes_of(request, Policy(slice_size=size)) if request.nodes or request.parts else _plain_sizes(nodes, size)
                assert [len(part.nodes) for part in event.slices] == sizes
                given_nodes = [name for part in event.slices for name in part.nodes]
                for part in event.slices if is_small(nodes, size) else ():
                    domain = state.topology.domain_index[part.domain]
                    fresh = sum(name in part.nodes and not state.nodes[name].shares for name in given_nodes)
                    assert state.space.count[domain] - fresh >= state.space.owed(domain, state.policy)
            case ev.NodeSwapped():
                given_nodes = [event.new]
            case ev.SliceMoved():
                given_nodes = list(event.assignment.nodes)
            case _:
                given_nodes = []
        assert all(state.nodes[name].placeable for name in given_nodes)

    def tied(self) -> None:
        """Conditions on where slices lie hold for as long as the job runs, wherever they were moved."""
        topology = self.world.state.topology
        for job in self.world.state.jobs.values():
            homes = [topology.domain_index.get(part.domain) for part in job.slices]
            blocks = [None if home is None else topology.block_of[home] for home in homes]
            request = job.request
            if request.mode is LevelMode.REQUIRED:
                assert len(set(homes if request.level == "domain" else blocks) - {None}) <= 1
            if request.layers:
                assert all(blocks[first] == blocks[first + 1] for first in range(0, len(blocks) - 1, 2))
            if request.parts and homes:
                trainers = [name == "trainer" for name in parts_of_slices(request, [len(part.nodes) for part in job.slices])]
                assert len({block for block, trains in zip(blocks, trainers, strict=True) if trains} - {None}) <= 1


def _plain_sizes(nodes: int, size: int) -> list[int]:
    """Of a request in GPUs."""
    return sizes_of(ask(nodes), Policy(slice_size=size)) or [] if nodes else [1]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(SHAPES)), st.sampled_from(POLICIES), steps)
def test_invariants_hold_after_each_event_of_any_story(shape: str, policy: Policy, told: list[Step]) -> None:
    story = Story(shape, policy)
    for step, first, second in told:
        story.steps[step](first, second)
    story.run_pass(0, 0)
    story.world.log.sound()


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(SHAPES)), st.lists(st.integers(0, len(REQUESTS) - 1), min_size=1, max_size=12))
def test_with_a_connector_that_obeys_everything_placed_runs_and_everything_ends(shape: str, asked: list[int]) -> None:
    world = World(SHAPES[shape], checked=False)
    for number in asked:
        world.add(ev.JobSubmitted(request=REQUESTS[number], submitted_by="trace"))
    for _ in range(len(asked) + 1):
        world.settle()
        for name in [name for name, job in world.state.jobs.items() if job.slices]:
            assert world.job(name).state == "running"
            world.finish(name)
    assert not [name for name in world.state.jobs if world.job(name).blocked not in ("infeasible", "")]
    assert sum(world.state.space.count) == sum(node.placeable for node in world.state.nodes.values())
