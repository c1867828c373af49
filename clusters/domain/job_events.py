"""Events of jobs: asked for, placed, started, swapped, moved, stopped, ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from clusters.domain.ids import Instant
from clusters.domain.jobs import JobRequest
from clusters.domain.lost_work import LossCause


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceAssignment:
    """The nodes of one slice in rank order, all in one domain."""

    domain: str
    nodes: tuple[str, ...]
    gpus: tuple[int, ...] = ()  # which GPUs of the only node, for work below a node; else empty = all


class AfterStop(StrEnum):
    """What becomes of a job once all its work has stopped."""

    CANCELLED = "cancelled"
    FAILED = "failed"  # it ran longer than its limit
    WAITING = "waiting"
    CONTINUES = "continues"  # only some nodes stop: the old places of a slice that moved


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSubmitted:
    """A user or a trace asked for work. Its position gives the job's id."""

    VERSION: ClassVar[int] = 3  # 1 had no `arrival`; 2 had requests without levels, layers, parts, plan, class, limits and dependencies
    request: JobRequest
    submitted_by: str
    arrival: str = ""  # "plan:row" of the trace that the simulated fleet plays, else empty


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHeld:
    """A waiting job is kept back."""

    VERSION: ClassVar[int] = 1
    job: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReleased:
    """A held job may be placed again."""

    VERSION: ClassVar[int] = 1
    job: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobBlocked:
    """The job cannot be placed now; written when the code changes."""

    VERSION: ClassVar[int] = 1
    job: str
    code: str
    counts: dict[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlaced:
    """The job has nodes. Its connector starts it."""

    VERSION: ClassVar[int] = 1
    job: str
    generation: int
    slices: tuple[SliceAssignment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkStarted:
    """The connector reports that work of this generation runs on these nodes."""

    VERSION: ClassVar[int] = 1
    job: str
    generation: int
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkStopped:
    """The connector reports that the job's work up to this generation has stopped on these nodes."""

    VERSION: ClassVar[int] = 1
    job: str
    generation: int
    nodes: tuple[str, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequested:
    """The connector is to stop the job's work on these nodes; they stay taken until it has."""

    VERSION: ClassVar[int] = 1
    job: str
    generation: int
    nodes: tuple[str, ...]
    after: AfterStop
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSwapped:
    """A spare took the slot of a lost node; the other slots are untouched."""

    VERSION: ClassVar[int] = 1
    job: str
    generation: int
    slice: int
    slot: int
    old: str
    new: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceMoved:
    """A whole slice got new nodes in another domain; `released` are its old nodes that still run and must stop."""

    VERSION: ClassVar[int] = 1
    job: str
    generation: int
    slice: int
    old_domain: str
    assignment: SliceAssignment
    released: tuple[str, ...]
    lost: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceStalled:
    """A slice lacks nodes and nothing fits now; the job's other slices hold. Written when the code changes."""

    VERSION: ClassVar[int] = 1
    job: str
    generation: int
    slice: int
    code: str
    counts: dict[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPreempted:
    """The job gives its nodes to another, and waits again once its work has stopped: not its fault, so no retry is charged."""

    VERSION: ClassVar[int] = 1
    job: str
    generation: int
    by: str  # the job it makes room for; "" where an operator wants the room
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResized:
    """The job asks for another number of nodes from now on: it starts anew with those."""

    VERSION: ClassVar[int] = 1
    job: str
    nodes: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequeued:
    """The job's work has stopped and it waits again."""

    VERSION: ClassVar[int] = 1
    job: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFinished:
    """The work ended well."""

    VERSION: ClassVar[int] = 1
    job: str
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFailed:
    """The work ended badly by itself."""

    VERSION: ClassVar[int] = 1
    job: str
    generation: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCancelled:
    """The job was cancelled and none of its work runs."""

    VERSION: ClassVar[int] = 1
    job: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointReported:
    """The job has saved its progress up to a step."""

    VERSION: ClassVar[int] = 1
    job: str
    generation: int
    step: int
    at: Instant | None = None  # when what was saved was true; none, or a time to come: when the event occurred


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLost:
    """A disruption of the job is over, and cost so much."""

    VERSION: ClassVar[int] = 1
    job: str
    team: str
    cause: LossCause
    rollback_gpu_s: int
    stall_gpu_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChanged:
    """A setting of a job that may change while it lives has changed."""

    VERSION: ClassVar[int] = 1
    job: str
    priority: int
