"""The nodes of a job, now or in an earlier generation, as its ranks need them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from clusters.domain.decision import Refusal
from clusters.domain.errors import UnknownSubject
from clusters.domain.events import Event
from clusters.domain.job_events import JobPlaced, JobSubmitted, NodeSwapped, SliceAssignment, SliceMoved
from clusters.domain.jobs import JobRequest
from clusters.domain.state import ClusterState, Job, Slice
from scheduling.domain.parallelism.ranks import PlacedSlice, PlacedSlot, RankMap, rank_map


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One assignment of a job and the ranks that follow from it: counted when they are asked for, so that no state is held meanwhile."""

    cluster: str
    job: str
    generation: int
    request: JobRequest
    slices: tuple[PlacedSlice, ...]
    shared: bool  # the job has only some GPUs of its node

    @cached_property
    def ranks(self) -> RankMap:
        """All ranks, by the job's plan."""
        return rank_map(self.slices, self.request.plan)

    @property
    def lost(self) -> int:
        """Slots without a node: the assignment is not complete."""
        return sum(slot.node is None for part in self.slices for slot in part.slots)


def launch_now(state: ClusterState, job: Job) -> Launch | Refusal:
    """The assignment that the job has. The caller holds the state."""
    if not job.slices:
        hint = f"; its last assignment was generation {job.generation}" if job.generation else ""
        return Refusal(code="state", message=f"job {job.id} is {job.state} and has no nodes{hint}")
    slices = tuple(PlacedSlice(domain=part.domain, slots=tuple(_slots(state, part))) for part in job.slices)
    shared = any(part.gpus for part in job.slices)
    return Launch(
        cluster=state.name,
        job=job.id,
        generation=job.generation,
        request=job.request,
        slices=slices,
        shared=shared,
    )


def launch_before(state: ClusterState, name: str, events: Iterable[Event], generation: int | None) -> Launch | Refusal:
    """The assignment of a generation, or the last one, by the job's events. Raises UnknownSubject. The caller holds the state."""
    told = list(events)
    if not told or not isinstance(told[0].payload, JobSubmitted):
        raise UnknownSubject(f"there is no job {name!r} in cluster {state.name}")
    slices: list[SliceAssignment] = []
    reached = 0
    for event in told:
        payload = event.payload
        if isinstance(payload, JobPlaced | NodeSwapped | SliceMoved) and (generation is None or payload.generation <= generation):
            slices = _after(slices, payload)
            reached = payload.generation
    if not slices:
        return Refusal(code="state", message=f"job {name} never had nodes")
    if generation not in (None, reached):
        raise UnknownSubject(f"job {name} has had no generation {generation}; give one that it had, or none for the last")
    request = told[0].payload.request
    placed = tuple(_placed(state, part) for part in slices)
    return Launch(
        cluster=state.name,
        job=name,
        generation=reached,
        request=request,
        slices=placed,
        shared=any(part.gpus for part in slices),
    )


def _slots(state: ClusterState, part: Slice) -> Iterator[PlacedSlot]:
    for slot, name in enumerate(part.nodes):
        yield PlacedSlot(node=name, gpus=part.gpus or _gpus(state, name or part.lost.get(slot, "")))


def _after(slices: Sequence[SliceAssignment], payload: JobPlaced | NodeSwapped | SliceMoved) -> list[SliceAssignment]:
    """The assignment once this has happened."""
    if isinstance(payload, JobPlaced):
        return list(payload.slices)
    changed = list(slices)
    if isinstance(payload, SliceMoved):
        changed[payload.slice] = payload.assignment
    else:
        nodes = list(changed[payload.slice].nodes)
        nodes[payload.slot] = payload.new
        changed[payload.slice] = replace(changed[payload.slice], nodes=tuple(nodes))
    return changed


def _placed(state: ClusterState, part: SliceAssignment) -> PlacedSlice:
    slots = tuple(PlacedSlot(node=name, gpus=part.gpus or _gpus(state, name)) for name in part.nodes)
    return PlacedSlice(domain=part.domain, slots=slots)


def _gpus(state: ClusterState, name: str) -> tuple[int, ...]:
    """GPUs of a whole node; of one that has left the inventory, as many as its nodes usually have."""
    node = state.nodes.get(name)
    return tuple(range(node.gpus if node is not None else state.topology.usual_gpus))
