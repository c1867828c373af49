"""Which GPUs an event gives to a job, and which it takes back: the guard that no GPU has two owners.

Claims are written in the transaction of their event, under a unique constraint, so that even a program that decides wrongly cannot book a
GPU twice. They follow from the events and the sizes of nodes, by the rules of the fold: a node leaves a job when its work is reported
stopped, or known to be dead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clusters.domain.errors import BrokenInvariant
from clusters.domain.events import Payload
from clusters.domain.health_events import NodeFailed
from clusters.domain.inventory_events import NodeRemoved
from clusters.domain.job_events import JobPlaced, NodeSwapped, SliceMoved, WorkStopped
from clusters.domain.state import ClusterState

Gpu = tuple[str, int]  # node, GPU
Holders = dict[int, tuple[str, int]]  # GPU of one node -> job, and its generation when it got the GPU


class Claimed(NamedTuple):
    """A job gets GPUs of a node."""

    node: str
    gpus: tuple[int, ...]
    job: str
    generation: int


class Released(NamedTuple):
    """GPUs of a node are free again: all of them, or those that one job got up to a generation."""

    node: str
    job: str | None
    generation: int


Change = Claimed | Released


_RELEASING = frozenset({WorkStopped, NodeRemoved, NodeFailed})


def releases(payloads: Iterable[Payload]) -> Iterator[Change]:
    """What facts give back; they never claim."""
    for payload in payloads:
        if type(payload) not in _RELEASING:
            continue
        if isinstance(payload, WorkStopped):
            for node in payload.nodes:
                yield Released(node, payload.job, payload.generation)
        elif isinstance(payload, NodeRemoved) or (isinstance(payload, NodeFailed) and payload.fencing):
            yield Released(payload.node, None, 0)


def changes(state: ClusterState, payloads: Iterable[Payload]) -> Iterator[Change]:
    """What a decision on this state claims and gives back, in order."""
    for payload in payloads:
        match payload:
            case JobPlaced():
                for part in payload.slices:
                    for node in part.nodes:
                        yield Claimed(node, part.gpus or _all_gpus(state, node), payload.job, payload.generation)
            case SliceMoved():
                for node in payload.assignment.nodes:
                    gpus = payload.assignment.gpus or _all_gpus(state, node)
                    yield Claimed(node, gpus, payload.job, payload.generation)
            case NodeSwapped():
                gpus = state.jobs[payload.job].slices[payload.slice].gpus or _all_gpus(state, payload.new)
                yield Claimed(payload.new, gpus, payload.job, payload.generation)
            case _:
                yield from releases((payload,))


def _all_gpus(state: ClusterState, node: str) -> tuple[int, ...]:
    return tuple(range(state.nodes[node].gpus))


def apply_claim(holders: Holders, change: Change) -> None:
    """Change who holds one node's GPUs; raises BrokenInvariant where one would get a second owner."""
    if isinstance(change, Claimed):
        for gpu in change.gpus:
            if gpu in holders:
                raise BrokenInvariant(f"GPU {gpu} of node {change.node} was given to {change.job}, but {holders[gpu][0]} holds it")
            holders[gpu] = (change.job, change.generation)
        return
    for gpu, (job, generation) in list(holders.items()):
        if change.job is None or (job == change.job and generation <= change.generation):
            del holders[gpu]
