"""What a connector is: the hands and eyes of the control plane on one engine.

Effects (`start`, `stop`, ...) follow from the log and say what the engine is to do. They return nothing: what came of them is reported by
facts only, through `observe`. An effect is identified by (cluster, job, generation, verb) and, within that, by node: given twice it works
once, so that it may be sent again after any doubt. A check is identified by its node and number, and answered by one NodeChecked, unless
the node fails meanwhile or is gone. A verb that the capabilities leave out is accepted and does nothing.

Facts are kept until a later `observe` acknowledges them by its cursor; they carry a source_id that is the same whenever the same thing is
reported again, so the log absorbs what it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from clusters.domain.events import NewEvent
from clusters.domain.ids import Duration
from clusters.domain.jobs import JobRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A job as its engine needs to know it."""

    job: str
    request: JobRequest
    arrival: str = ""  # "plan:row" of a planned job; only the simulated fleet reads it


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One place of a job: slot `slot` of its slice `slice` is on this node."""

    slice: int
    slot: int
    node: str
    gpus: tuple[int, ...] = ()  # which GPUs of the node, for work below a node; else empty = all


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What the engine can be told to do beyond starting and stopping."""

    checkpoint: bool  # save a job's progress when asked
    cordon: bool  # keep new work of others off a node
    check: bool  # find out whether a repaired node works


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Facts not yet acknowledged, in order, and the cursor that acknowledges them."""

    facts: tuple[NewEvent, ...]
    cursor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSight:
    """What the engine shows of a node."""

    known: bool
    up: bool
    cordoned: bool
    jobs: tuple[str, ...]  # whose work it runs, or is about to run


class Connector(Protocol):
    """One engine."""

    def capabilities(self) -> Capabilities:
        """What it can be told to do."""

    def observe(self, cursor: str) -> Observation:
        """What has happened after the cursor ("" = from the start of this connection); acknowledges all up to it."""

    def start(self, work: Work, generation: int, slots: Sequence[Slot]) -> None:
        """Start the work on these nodes; other nodes that it runs on already are untouched."""

    def stop(self, job: str, generation: int, nodes: Sequence[str], grace: Duration | None = None) -> None:
        """Stop the job's work up to this generation on these nodes within `grace` (None: the engine's own)."""

    def checkpoint(self, job: str) -> None:
        """Save the job's progress."""

    def cordon(self, node: str) -> None:
        """Keep new work off the node."""

    def uncordon(self, node: str) -> None:
        """Let new work on the node again."""

    def check(self, node: str, number: int) -> None:
        """Find out whether the node works; `number` is that of the request, and rises with each of the node's."""

    def look(self, node: str) -> NodeSight:
        """What there is to see of one node, now."""
