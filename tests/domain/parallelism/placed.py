"""Assignments for tests, as a world's jobs have them."""

from __future__ import annotations

from clusters.domain.state import ClusterState, Job
from scheduling.domain.parallelism.ranks import PlacedSlice, PlacedSlot


def whole(domain: str, nodes: int, gpus: int = 4) -> PlacedSlice:
    """A slice of the first nodes of a domain."""
    slots = tuple(PlacedSlot(node=f"{domain}-n{node}", gpus=tuple(range(gpus))) for node in range(1, nodes + 1))
    return PlacedSlice(domain=domain, slots=slots)


def placed(state: ClusterState, job: Job) -> tuple[PlacedSlice, ...]:
    """What the job holds."""
    return tuple(
        PlacedSlice(
            domain=part.domain,
            slots=tuple(PlacedSlot(node=name, gpus=part.gpus or tuple(range(state.nodes[name].gpus))) for name in part.nodes if name),
        )
        for part in job.slices
    )
