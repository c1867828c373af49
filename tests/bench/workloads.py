"""Many workloads from submission to end: a stream of submissions, a connector that obeys at once, and cluster time that jumps.

The stream is that of Kueue's scheduler benchmark with topologies: test/performance/scheduler/configs/tas/generator.yaml of
kubernetes-sigs/kueue, in the form that has the 15,000 workloads of its baseline. 30 queues, each with a quota of 20 CPUs that may borrow
100 more, get 350 small, 100 medium and 50 large workloads of 1, 5 and 20 CPUs in 2, 4 and 8 pods. They run for 200, 500 and 1,000 ms and
have priorities of 50, 100 and 200. A third of each must lie in one rack, a third should, and a third comes in two slices that each must.
The thirds are streams of their own, each with its first workload after one interval of 100, 500 or 1,200 ms.

Where this is another thing: a CPU is a whole node here, so that the nodes are nearly used up by the quotas, while there they are a hundred
times as many. What may lie anywhere is cut into slices of the nodes of one pod. A team may borrow from all others; there the queues are in
five cohorts of six that lend to each other only. There a workload may also preempt those of lower priority in its own queue.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from clusters.domain import job_events as ev
from clusters.domain.commands import RunPass, SubmitJobs
from clusters.domain.constraints import LevelMode
from clusters.domain.events import Event, NewEvent, PolicyActivated
from clusters.domain.ids import MILLISECOND, SECOND, Duration, Instant
from clusters.domain.inventory_events import ClusterCreated, NodeRegistered, RackRegistered
from clusters.domain.jobs import JobKind, JobRequest
from clusters.domain.policy import Policy
from clusters.domain.setting import Backfill
from clusters.domain.state import ClusterState
from clusters.domain.teams import PriorityClass, Quota
from clusters.eventlog.log import StoredLog
from clusters.eventlog.port import Committed
from clusters.eventlog.request import Request
from scheduling.domain.decide import decide

START: Instant = 1_800_000_000 * SECOND
RACKS, NODES, GPUS = 10, 64, 4
QUEUES = 30

#: Kueue lets whatever fits go ahead (BestEffortFIFO), and keeps nothing for what does not.
POLICY = Policy(
    backfill=Backfill.OFF,
    classes=tuple(PriorityClass(name=name, priority=points, ageing=4) for name, points in (("small", 50), ("medium", 100), ("large", 200))),
    quotas=tuple(Quota(team=f"queue {queue}", gpus=20 * GPUS, borrow=100 * GPUS) for queue in range(QUEUES)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Workloads of one size, of each queue."""

    name: str
    counts: tuple[int, int, int]  # that must lie in one rack, that should, and that come in two slices
    every: Duration
    runs: Duration
    nodes: int
    pods: int

    def requests(self, team: str) -> Iterator[tuple[int, JobRequest]]:
        """How many there are of each third, and what they ask."""
        whole = JobRequest(
            name=self.name,
            kind=JobKind.BATCH,
            nodes=self.nodes,
            team=team,
            priority_class=self.name,
            spares=0,
            level="rack",
            mode=LevelMode.REQUIRED,
        )
        required, preferred, sliced = self.counts
        yield required, whole
        yield preferred, replace(whole, mode=LevelMode.PREFERRED, max_slice=-(-self.nodes // self.pods))
        yield sliced, replace(whole, level="", mode=LevelMode.ANY, max_slice=-(-self.nodes // 2))


SIZES = (
    Size(name="small", counts=(120, 120, 110), every=100 * MILLISECOND, runs=200 * MILLISECOND, nodes=1, pods=2),
    Size(name="medium", counts=(34, 33, 33), every=500 * MILLISECOND, runs=500 * MILLISECOND, nodes=5, pods=4),
    Size(name="large", counts=(17, 17, 16), every=1_200 * MILLISECOND, runs=1_000 * MILLISECOND, nodes=20, pods=8),
)
TOTAL = QUEUES * sum(sum(size.counts) for size in SIZES)
RUNS = {size.name: size.runs for size in SIZES}


def submissions() -> list[tuple[Instant, list[JobRequest]]]:
    """What comes when."""
    due: dict[Instant, list[JobRequest]] = {}
    for size in SIZES:
        for queue in range(QUEUES):
            for count, request in size.requests(f"queue {queue}"):
                for number in range(1, count + 1):
                    due.setdefault(START + number * size.every, []).append(request)
    return sorted(due.items())


class Run:
    """One cluster and its stream."""

    def __init__(self, log: StoredLog, name: str, policy: Policy = POLICY) -> None:
        self.log = log
        self.name = name
        self.now = START
        self.node_time = 0  # of all work
        self.ended = 0
        self.waited: list[Duration] = []
        self._started: list[ev.WorkStarted] = []  # to be told with what is due next
        self._ids = itertools.count()
        self._agenda: list[tuple[Instant, str, int]] = []  # (end, job, generation)
        log.create(name, [NewEvent(payload, START, "system", f"create/{n}") for n, payload in enumerate(_opening(name, policy))])

    def play(self) -> None:
        """From the first submission to the last end."""
        stream = submissions()[::-1]
        while stream or self._agenda:
            self.now = min([due for due, _ in stream[-1:]] + [due for due, _, _ in self._agenda[:1]])
            self._end_due()
            if stream and stream[-1][0] == self.now:
                self._commit(SubmitJobs(requests=tuple(stream.pop()[1]), by="bench"))
            self._pass()

    def _pass(self) -> None:
        more = True
        while more:
            done = self._commit(RunPass())
            with self.log.live(self.name).reading() as state:
                facts = [fact for event in done.events for fact in self._obey(state, event)]
            stops = [fact for fact in facts if isinstance(fact, ev.WorkStopped)]
            self._started += [fact for fact in facts if isinstance(fact, ev.WorkStarted)]
            if stops:
                self._tell([*self._started, *stops])
                self._started = []
            more = done.more or bool(stops)

    def _obey(self, state: ClusterState, event: Event) -> Iterator[ev.WorkStarted | ev.WorkStopped]:
        payload = event.payload
        if isinstance(payload, ev.JobPlaced):
            nodes = tuple(node for part in payload.slices for node in part.nodes)
            job = state.jobs[payload.job]
            runs = RUNS[job.request.name]
            self.waited.append(self.now - job.submitted_at)
            heapq.heappush(self._agenda, (self.now + runs, payload.job, payload.generation))
            yield ev.WorkStarted(job=payload.job, generation=payload.generation, nodes=nodes)
        elif isinstance(payload, ev.StopRequested):
            yield ev.WorkStopped(job=payload.job, generation=payload.generation, nodes=payload.nodes)

    def _end_due(self) -> None:
        facts: list[ev.WorkStarted | ev.JobFinished | ev.WorkStopped] = [*self._started]
        self._started = []
        with self.log.live(self.name).reading() as state:
            while self._agenda and self._agenda[0][0] <= self.now:
                _, name, generation = heapq.heappop(self._agenda)
                job = state.jobs[name]
                if job.generation != generation or job.holders_stop or not job.held_nodes:
                    continue  # it was preempted meanwhile
                self.ended += 1
                self.node_time += len(job.held_nodes) * RUNS[job.request.name]
                facts.append(ev.JobFinished(job=name, generation=generation))
                facts.append(ev.WorkStopped(job=name, generation=generation, nodes=tuple(job.held_nodes)))
        self._tell(facts)

    def _tell(self, facts: Sequence[ev.WorkStarted | ev.WorkStopped | ev.JobFinished]) -> None:
        if facts:
            self.log.append_facts(self.name, [NewEvent(fact, self.now, "fleet", str(next(self._ids))) for fact in facts])

    def _commit(self, command: SubmitJobs | RunPass) -> Committed:
        done = self.log.commit(self.name, Request(command=command, source="bench", request_id=None, now=self.now), decide)
        assert isinstance(done, Committed), done
        return done

    @property
    def utilisation(self) -> float:
        """Node time of all work, of all nodes' from the first submission to the last end."""
        return self.node_time / (RACKS * NODES * (self.now - START))


def _opening(name: str, policy: Policy) -> Iterator[ClusterCreated | PolicyActivated | RackRegistered | NodeRegistered]:
    yield ClusterCreated(name=name, connector="simulated")
    yield PolicyActivated(version=1, policy=policy, reason="", by="bench")
    for rack in range(1, RACKS + 1):
        yield RackRegistered(rack=f"r{rack}", block="b1")
        for node in range(1, NODES + 1):
            yield NodeRegistered(node=f"r{rack}-n{node}", rack=f"r{rack}", domain=f"r{rack}", gpus=GPUS)
