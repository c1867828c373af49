"""From the events of the log to what a connector is to do about them. The same for every connector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch

from clusters.connectors.base import Connector, Slot, Work
from clusters.domain.defrag_events import CheckpointRequested
from clusters.domain.health_events import NodeCheckRequested
from clusters.domain.job_events import JobPlaced, NodeSwapped, SliceAssignment, SliceMoved, StopRequested


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Work is to start in these slots."""

    job: str
    generation: int
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Work is to stop on these nodes."""

    job: str
    generation: int
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Save:
    """Work is to save its progress."""

    job: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A repaired node is to be checked."""

    node: str
    number: int


Effect = Start | Stop | Save | Check


@singledispatch
def effect_of(payload: object) -> Effect | None:
    """What the engine is to do about an event; None where it is no business of the engine."""
    return None


@effect_of.register
def _(payload: JobPlaced) -> Effect:
    slots = [slot for number, part in enumerate(payload.slices) for slot in _slots(number, part)]
    return Start(job=payload.job, generation=payload.generation, slots=tuple(slots))


@effect_of.register
def _(payload: NodeSwapped) -> Effect:
    slot = Slot(slice=payload.slice, slot=payload.slot, node=payload.new)
    return Start(job=payload.job, generation=payload.generation, slots=(slot,))


@effect_of.register
def _(payload: SliceMoved) -> Effect:
    return Start(job=payload.job, generation=payload.generation, slots=tuple(_slots(payload.slice, payload.assignment)))


@effect_of.register
def _(payload: StopRequested) -> Effect:
    return Stop(job=payload.job, generation=payload.generation, nodes=payload.nodes)


@effect_of.register
def _(payload: CheckpointRequested) -> Effect:
    return Save(job=payload.job)


@effect_of.register
def _(payload: NodeCheckRequested) -> Effect:
    return Check(node=payload.node, number=payload.number)


def _slots(number: int, part: SliceAssignment) -> list[Slot]:
    return [Slot(slice=number, slot=slot, node=node, gpus=part.gpus) for slot, node in enumerate(part.nodes)]


def carry_out(effect: Effect, connector: Connector, work_of: Callable[[str], Work | None]) -> None:
    """Tell the connector; `work_of` gives a job that has not ended. What is about another is passed over."""
    if isinstance(effect, Check):
        connector.check(effect.node, effect.number)
    elif (work := work_of(effect.job)) is None:
        return
    elif isinstance(effect, Start):
        connector.start(work, effect.generation, effect.slots)
    elif isinstance(effect, Stop):
        connector.stop(effect.job, effect.generation, effect.nodes)
    else:
        connector.checkpoint(effect.job)
