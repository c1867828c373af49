"""Where a job runs, as the control plane tells its workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One slot of a job."""

    slice: int
    slot: int
    node: str | None  # none: lost, and not replaced yet
    rank: int
    gpu_rank: int  # of the node's first GPU among all of the job's
    gpus: tuple[int, ...]  # of the node, for work below a node; else empty = all
    new: bool = False  # it got its node after the generation known before


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """All slots of a job under one generation."""

    job: str
    generation: int
    state: str
    over: bool
    places: tuple[Place, ...]  # by rank
    stays: tuple[str, ...]  # nodes that had their slot in the generation known before
    came: tuple[str, ...]  # nodes that did not
    left: tuple[str, ...]  # nodes that are no longer among them
    checkpoint_step: int | None = None  # of the last checkpoint reported

    @property
    def world(self) -> int:
        """Slots, with a node or without."""
        return len(self.places)

    @property
    def complete(self) -> bool:
        """Whether every slot has a node."""
        return bool(self.places) and all(place.node is not None for place in self.places)

    def place_of(self, node: str) -> Place | None:
        """The slot of a node; none where it has none, or no longer."""
        return next((place for place in self.places if place.node == node), None)

    def node_of(self, rank: int) -> str | None:
        """The node of a rank."""
        return self.places[rank].node


def read_assignment(plain: Mapping[str, Any]) -> Assignment:
    """The assignment of an answer."""
    return Assignment(
        job=plain["job"],
        generation=plain["generation"],
        state=plain["state"],
        over=plain["over"],
        places=tuple(
            Place(
                slice=slot["slice"],
                slot=slot["slot"],
                node=slot["node"],
                rank=slot["rank"],
                gpu_rank=slot["gpu_rank"],
                gpus=tuple(slot["gpus"]),
                new=slot["new"],
            )
            for slot in plain["slots"]
        ),
        stays=tuple(plain["stays"]),
        came=tuple(plain["came"]),
        left=tuple(plain["left"]),
        checkpoint_step=plain["checkpoint_step"],
    )
