"""What a user asks for, and the states a job goes through."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from clusters.domain.constraints import (
    MAX_NAME,
    MAX_NODES,
    JobPart,
    Layer,
    LevelMode,
    ParallelPlan,
    check_layers,
    check_parts,
    load_constraints,
)
from clusters.domain.errors import InvalidRequest
from clusters.domain.ids import Instant


class JobKind(StrEnum):
    """The kinds of work; they differ in their defaults (see `default_restartable`)."""

    TRAINING = "training"
    INFERENCE = "inference"
    BATCH = "batch"
    INTERACTIVE = "interactive"
    RL = "rl"  # trainer slices and rollout nodes: parts that are placed together or not at all
    PROBE = "probe"  # a health check on idle nodes: it yields to all other work at once, and that is no disruption


class Recovery(StrEnum):
    """Where a replaced node takes its state from."""

    CHECKPOINT = "checkpoint"  # the whole job goes back to its last checkpoint
    PEER = "peer"  # only the lost nodes are rolled back


class OnStall(StrEnum):
    """What a job does of which a slice has lost nodes and has no place."""

    HOLD = "hold"  # its other slices wait until there is one
    RESTART = "restart"  # it starts anew elsewhere, where it can start whole
    SHRINK = "shrink"  # likewise, or smaller where it cannot


class JobState(StrEnum):
    """The states of a job; the last three are final."""

    SUBMITTED = "submitted"
    HELD = "held"
    WAITING = "waiting"
    PLACED = "placed"
    STARTING = "starting"
    RUNNING = "running"
    STALLED = "stalled"
    STOPPING = "stopping"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


QUEUED = frozenset({JobState.SUBMITTED, JobState.WAITING})
#: The job has an assignment and wants to keep it.
ACTIVE = frozenset({JobState.PLACED, JobState.STARTING, JobState.RUNNING, JobState.STALLED})
TERMINAL = frozenset({JobState.FINISHED, JobState.FAILED, JobState.CANCELLED})

PRIORITY_RANGE = (-1000, 1000)
MAX_AFTER = 32
#: Ten years: longer than any job, short enough to keep instants in 63 bits.
MAX_SECONDS = 315_360_000


def default_restartable(kind: JobKind) -> bool:
    """Interactive work has somebody's session in it; all else is taken to restart unless the user says otherwise."""
    return kind is not JobKind.INTERACTIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """A request for nodes, or for GPUs of one node."""

    name: str
    kind: JobKind
    nodes: int | None = None  # whole nodes; exactly one of nodes and gpus is given
    gpus: int | None = None  # below a node: shares one; a node's worth or more: whole nodes
    slice_size: int | None = None  # nodes: the unit that slices are whole multiples of
    max_slice: int | None = None  # nodes: lowers the policy's slice size for this job
    tail: bool = False  # allow a last slice that is no multiple of slice_size
    spares: int | None = None  # nodes owed to each domain it runs in; overrides the policy
    priority: int = 0
    restartable: bool = True
    expected_run_s: int | None = None
    checkpoint_interval_s: int | None = None
    recovery: Recovery = Recovery.CHECKPOINT
    on_stall: OnStall = OnStall.HOLD
    team: str = ""
    held: bool = False  # submitted on hold
    priority_class: str = ""  # of the policy; "" = its first
    level: str = ""  # of the topology, with `mode`; "" = none in particular
    mode: LevelMode = LevelMode.ANY
    layers: tuple[Layer, ...] = ()  # outermost first; slices are the innermost one and not named here
    exclusive: bool = False  # no other work in its domains
    parts: tuple[JobPart, ...] = ()  # where they differ; `nodes` is then their sum
    plan: ParallelPlan | None = None  # its TP x EP group, in whole nodes, is the unit of slices unless slice_size is given
    time_limit_s: int | None = None  # work that runs longer is stopped, and the job fails
    not_before: Instant | None = None  # cluster time before which it does not start
    after: tuple[str, ...] = ()  # ids of jobs that must have finished

    def __post_init__(self) -> None:
        """Refuse what no cluster could mean; raises InvalidRequest."""
        _check_text("name", self.name, required=True)
        _check_text("team", self.team, required=False)
        if (self.nodes is None) == (self.gpus is None):
            raise InvalidRequest("nodes", self.nodes, "give nodes or gpus" if self.nodes is None else "give nodes or gpus, not both")
        for field, low, high in _RANGES:
            value = getattr(self, field)
            if value is not None and not low <= value <= high:
                raise InvalidRequest(field, value, f"give a whole number from {low} to {high}")
        if self.mode is not LevelMode.ANY and not self.level:
            raise InvalidRequest("level", self.level, f"name the level that is {self.mode}")
        if len(self.after) > MAX_AFTER:
            raise InvalidRequest("after", len(self.after), f"give at most {MAX_AFTER} jobs")
        check_layers(self.layers, self.slice_size or 1)
        check_parts(self.parts, self.nodes)


_RANGES: tuple[tuple[str, int, int], ...] = (
    ("nodes", 1, MAX_NODES),
    ("gpus", 1, MAX_NODES * 8),
    ("slice_size", 1, MAX_NODES),
    ("max_slice", 1, MAX_NODES),
    ("spares", 0, MAX_NODES),
    ("priority", *PRIORITY_RANGE),
    ("expected_run_s", 1, MAX_SECONDS),
    ("checkpoint_interval_s", 1, MAX_SECONDS),
    ("time_limit_s", 1, MAX_SECONDS),
)


def load_request(plain: dict[str, Any]) -> JobRequest:
    """The request whose `asdict` this is."""
    enums = {"kind": JobKind(plain["kind"]), "recovery": Recovery(plain["recovery"]), "on_stall": OnStall(plain["on_stall"])}
    return JobRequest(**{**plain, **enums, **load_constraints(plain)})


def _check_text(field: str, value: str, *, required: bool) -> None:
    if len(value) > MAX_NAME or (required and not value.strip()) or not value.isprintable():
        least = 1 if required else 0
        raise InvalidRequest(field, value[:80], f"give {least} to {MAX_NAME} printable characters")
