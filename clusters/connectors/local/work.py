"""The work of one job on this machine, as its processes have told of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from clusters.connectors.base import Slot


@dataclass(slots=True)
class LocalWork:
    """Which nodes run it, under which generation, and where it has ended well by itself."""

    job: str
    generation: int = 0  # of the last start
    slots: dict[tuple[int, int], Slot] = field(default_factory=dict)
    nodes: dict[str, int] = field(default_factory=dict)  # node -> generation of the work on it, or about to be
    done: set[str] = field(default_factory=set)  # nodes on which it has ended well while it runs elsewhere
    stopping: set[str] = field(default_factory=set)  # nodes on which it was told to stop
    ended: bool = False  # its end was told

    def take(self, generation: int, slots: list[Slot]) -> None:
        """It gets these slots; the others it keeps."""
        self.generation, self.ended = generation, False
        if not any(slot.node in self.nodes and slot.node not in self.stopping for slot in self.slots.values()):
            self.slots.clear()  # a new placement: nothing of the one before goes on
        for slot in slots:
            self.slots[slot.slice, slot.slot] = slot
            self.nodes[slot.node] = generation
            self.done.discard(slot.node)
            self.stopping.discard(slot.node)

    def has(self, node: str, generation: int) -> bool:
        """Whether work up to the generation is on the node."""
        return node in self.nodes and self.nodes[node] <= generation

    def leave(self, node: str) -> int:
        """The node is free of it; returns the generation that it had there."""
        self.done.discard(node)
        self.stopping.discard(node)
        return self.nodes.pop(node)

    @property
    def is_done(self) -> bool:
        """Whether all its slots have ended well."""
        occupants = {slot.node for slot in self.slots.values()}
        return bool(occupants) and occupants <= self.done


def key_of(job: str, generation: int) -> str:
    """What the work of a job on a node is called there."""
    return f"{job}/{generation}"


def read_key(key: str) -> tuple[str, int]:
    """(job, generation)."""
    job, _, generation = key.rpartition("/")
    return job, int(generation)
