"""The state of one cluster: the fold of its log up to position `seq`.

Only `evolve` changes it, in place: copying a fleet for each of a million events would cost more than everything else together. What-ifs
fork `space`, the part that placement works on.
"""

from __future__ import annotations

from clusters.domain.books import PLACEABLE, Condition
from clusters.domain.clock import Clock
from clusters.domain.defrag import ActivePlan, Disturbed, RoomRequest
from clusters.domain.dense import build_space
from clusters.domain.health import SCHEDULER, Flag, Marks
from clusters.domain.ids import Instant
from clusters.domain.incidents import Breaker, Incident
from clusters.domain.job_events import AfterStop
from clusters.domain.jobs import ACTIVE, TERMINAL, JobRequest, JobState
from clusters.domain.lost_work import Disruption, Loss
from clusters.domain.policy import Policy
from clusters.domain.queue import Line, Queue
from clusters.domain.racks import Rack
from clusters.domain.reservations import Reservation
from clusters.domain.signals import Heard, SignalKind
from clusters.domain.space import Space
from clusters.domain.topology import Topology
from clusters.domain.usage import Usage

#: Ended jobs that are remembered by name and outcome, so that a late command gets a true answer. All of them are in the log.
REMEMBERED_JOBS = 10_000


#: The connector of a cluster on which nothing acts: it is imported, planned and shown.
NO_ENGINE = "none"
#: The connector of a simulated fleet, which makes its racks itself.
SIMULATED = "simulated"
#: The connector of processes of this machine that stand for nodes.
LOCAL = "local"


class Node:
    """One compute tray."""

    __slots__ = (
        "asked_at",
        "checks",
        "condition",
        "domain",
        "evidence",
        "failed_at",
        "failures",
        "gpus",
        "job",
        "marks",
        "name",
        "problem",
        "product",
        "rack",
        "shares",
        "shut",
        "signals",
        "told_domain",
        "told_gpus",
        "trusted_at",
        "unchecked",
        "verdicts",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.rack = ""
        self.domain: str | None = None
        self.gpus = 0
        self.told_domain: str | None = None  # what the inventory says; it holds from when no work is on the node
        self.told_gpus = 0
        self.product = ""
        self.problem = ""
        self.evidence: tuple[str, ...] = ()
        self.marks: Marks = {}
        self.condition = Condition.HEALTHY
        self.shut = False  # its rack gives no nodes
        self.failures = 0  # NodeFailed events that changed something
        self.failed_at: Instant | None = None  # the last of them
        self.verdicts: list[Instant] = []  # when verdicts last took it out, at most health.MAX_VERDICTS
        self.trusted_at: Instant | None = None  # when a person last released it: what was before does not count as flapping
        self.job = ""  # holds the whole node
        self.signals: list[Heard] = []  # the last ones of all sources, in order of seq
        self.shares: dict[str, int] = {}  # job -> mask of the GPUs it has, for work below a node
        self.unchecked: Instant | None = None  # since when it is repaired and waits for its check
        self.asked_at: Instant | None = None  # when the engine was asked for that check
        self.checks = 0  # ever asked for: the number of the last one

    @property
    def placeable(self) -> bool:
        """Whether it may take new work."""
        return self.in_service and not self.problem and self.domain is not None and not self.shut

    @property
    def in_service(self) -> bool:
        """Whether it is well, as far as anybody knows, and not in doubt after a repair."""
        return self.condition in PLACEABLE and self.unchecked is None


class Slice:
    """The nodes of a job in one domain, by slot; None is a slot whose node was lost."""

    __slots__ = ("domain", "gpus", "lost", "nodes")

    def __init__(self, domain: str, nodes: list[str | None], gpus: tuple[int, ...]) -> None:
        self.domain = domain
        self.nodes = nodes
        self.lost: dict[int, str] = {}  # slot without a node -> the node it had
        self.gpus = gpus  # of the only node, for work below a node; else empty


class Job:
    """A job that has not ended, or whose work has not stopped everywhere yet."""

    __slots__ = (
        "after",
        "aged_from",
        "arrival",
        "awaits",
        "blocked",
        "blocked_since",
        "checkpoint_at",
        "checkpoint_step",
        "counts",
        "disruption",
        "disturbed_at",
        "generation",
        "held_nodes",
        "id",
        "leaving",
        "line",
        "moves",
        "paused_at",
        "placed_at",
        "placed_seq",
        "preemptions",
        "priority",
        "reason",
        "recoveries",
        "request",
        "resumed_at",
        "rollback_gpu_s",
        "seq",
        "slices",
        "stall_gpu_s",
        "started_at",
        "state",
        "submitted_at",
        "submitted_by",
        "swaps",
        "unstarted",
        "unwanted_at",
    )

    def __init__(self, *, id: str, seq: int, request: JobRequest, submitted_by: str, submitted_at: Instant) -> None:
        self.id = id
        self.seq = seq
        self.request = request
        self.submitted_by = submitted_by
        self.submitted_at = submitted_at
        self.arrival = ""
        self.state = JobState.SUBMITTED
        self.priority = request.priority
        self.aged_from = submitted_at if request.not_before is None else max(submitted_at, request.not_before)
        self.paused_at: Instant | None = None  # since when it does not age, as it runs, is held or waits for other jobs
        self.awaits: set[str] = set()  # jobs that must finish before it has its turn
        self.line: Line | None = None  # of the queue, in which it waits
        self.blocked = ""  # code of the last refusal while it waits or is stalled
        self.blocked_since: Instant = 0  # when it was first told that code
        self.counts: dict[str, int | str] = {}  # counted reasons of that refusal
        self.reason = ""  # why it was stopped, requeued or held
        self.placed_at: Instant | None = None  # of the present placement
        self.placed_seq = 0  # position of the last placement
        self.started_at: Instant | None = None  # when work of the present placement first ran everywhere
        self.generation = 0
        self.slices: list[Slice] = []
        self.held_nodes: dict[str, int] = {}  # nodes not yet confirmed stopped -> the generation at which the job got them
        self.leaving: set[str] = set()  # held nodes that are to stop while the job goes on: the old places of a moved slice
        self.unstarted: set[str] = set()  # assigned nodes whose work has not been reported started
        self.after: AfterStop | None = None  # what comes once everything has stopped
        self.swaps = 0
        self.moves = 0
        self.preemptions = 0
        self.recoveries: list[Instant] = []  # swaps and moves for lost nodes of the last hour, in order; see evolve_recovery
        self.disturbed_at: Instant | None = None  # when it was last moved from nodes that were well, or preempted
        self.unwanted_at: Instant | None = None  # when a person last rejected a plan that makes room for it
        self.checkpoint_at: Instant | None = None  # of the last checkpoint reported
        self.checkpoint_step = 0  # that it holds
        self.resumed_at: Instant | None = None  # when work of the present placement last ran everywhere again
        self.disruption: Disruption | None = None  # it stands still
        self.rollback_gpu_s = 0  # booked so far, as is the stall
        self.stall_gpu_s = 0

    @property
    def holders_stop(self) -> bool:
        """Whether all its nodes are to stop, or should have."""
        return self.state is JobState.STOPPING or self.state in TERMINAL

    @property
    def lost_slots(self) -> tuple[tuple[int, int], ...]:
        """(slice, slot) of each slot without a node."""
        return tuple((s, slot) for s, part in enumerate(self.slices) for slot, node in enumerate(part.nodes) if node is None)

    @property
    def width(self) -> int:
        """Slots of the present placement."""
        return sum(len(part.nodes) for part in self.slices)


class ClusterState:
    """Everything that decisions, pages and connectors read."""

    def __init__(self) -> None:
        self.seq = 0
        self.moment: Instant = 0  # cluster time of the event that is being folded, or was last
        self.name = ""
        self.connector = ""
        self.options: dict[str, float] = {}
        self.clock = Clock(wall=0, cluster_time=0, speed=1.0)
        self.frontier: Instant = 0  # cluster time of the simulated fleet's last fact
        self.policy = Policy()
        self.policy_version = 0
        self.racks: dict[str, Rack] = {}
        self.nodes: dict[str, Node] = {}
        self.jobs: dict[str, Job] = {}
        self.holders: dict[str, Job] = {}  # those that hold nodes, in no order that means something
        self.queue = Queue()
        self.dependents: dict[str, list[str]] = {}  # job -> jobs that wait for it to finish
        self.orphaned: dict[str, str] = {}  # jobs that waited for one that did not finish -> why they are to be held
        self.usage = Usage()  # of teams
        self.lost: set[str] = set()  # active jobs with a lost slot
        self.stopped: set[str] = set()  # jobs in stopping whose work has stopped everywhere
        self.limited: set[str] = set()  # jobs whose time limit runs
        self.ended: dict[str, JobState] = {}  # the last REMEMBERED_JOBS ended jobs, oldest first
        self.tally: dict[str, int] = {}  # jobs ever submitted, finished, failed, cancelled, swaps, moves
        self.plans: dict[str, list[int]] = {}  # plan -> positions of its ArrivalsPlanned events
        self.arrived: dict[str, int] = {}  # plan -> rows submitted so far
        self.reservations: dict[str, Reservation] = {}  # by the job they are for
        self.lent: dict[str, str] = {}  # spares that work below a slice runs on -> the job
        self.defrag: dict[str, ActivePlan] = {}  # plans that wait for a decision or run, by id
        self.room: RoomRequest | None = None  # whole domains that somebody wants, and no plan frees yet
        self.disturbed: list[Disturbed] = []  # by plans approved in the hour before the last approval
        self.exclusive: set[str] = set()  # jobs that let no other work into their domains
        self.unbooked: list[Loss] = []  # disruptions that are over, not in the log yet
        self.lost_work: dict[tuple[str, str], tuple[int, int]] = {}  # (team, cause) -> rollback and stall, in GPU-seconds
        self.closed_racks: set[str] = set()  # racks that do not take all work
        self.watched: set[str] = set()  # nodes with signals, out of reach, or with a flag that a verdict has set
        self.unasked: set[str] = set()  # nodes that wait for a check that nobody has asked for yet
        self.incidents: dict[str, Incident] = {}  # open ones by id
        self.breaker: Breaker | None = None  # why verdicts do not act
        self.breaker_reset_at: Instant | None = None
        self._space: Space | None = None

    @property
    def has_engine(self) -> bool:
        """Whether something acts on what is decided."""
        return self.connector not in ("", NO_ENGINE)

    @property
    def topology(self) -> Topology:
        """The static shape of the present inventory."""
        return self.space.topology

    @property
    def space(self) -> Space:
        """The dense state; built on first use after the inventory changed."""
        if self._space is None:
            self._space = build_space(self)
        return self._space

    @property
    def built_space(self) -> Space | None:
        """The dense state, if the inventory has not changed since it was built."""
        return self._space

    def drop_space(self) -> None:
        """The inventory changed: indexes are no longer valid."""
        self._space = None


def is_watched(node: Node) -> bool:
    """Whether there is something for verdicts to look at: something was said against the node, or they have said it themselves."""
    return any(heard.kind is not SignalKind.RECOVERED for heard in node.signals) or any(
        mark.on and (source == SCHEDULER or flag is Flag.UNREACHABLE) for (flag, source), mark in node.marks.items()
    )


def is_limited(job: Job) -> bool:
    """Whether the job's time limit runs: from when its work first ran everywhere until it no longer wants its nodes."""
    return job.request.time_limit_s is not None and job.started_at is not None and job.state in ACTIVE
