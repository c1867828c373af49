"""The NVSwitch chips of a rack: which of them are lost, and what bandwidth is left.

Every GPU of the rack has one NVLink port to each chip, so a lost chip costs every GPU the same share of its bandwidth: 1/18 on NVL72, 2/18
for a whole tray. All paths remain, each a little narrower: the nodes are degraded, not failed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from clusters.domain.health import OFF, Flag, Mark
from clusters.domain.ids import Instant
from clusters.domain.racks import Rack
from clusters.domain.state import Node

#: NVSwitch chips of one switch tray of an NVL72 (NVIDIA GB200 NVL72: 9 trays, 18 chips).
CHIPS_PER_TRAY = 2
#: Terabytes a second of one NVLink 5 port, both directions together: 18 of them are the 1.8 TB/s of a GPU.
PORT_TBS = 0.1

#: The source of the marks that lost chips set; no source of facts can be called so.
SWITCHES = "switch chips"


class Fabric(NamedTuple):
    """What a rack's switches carry."""

    chips: int
    lost: int
    full_tbs: float  # terabytes a second of all GPUs, both directions together, with all chips
    left_tbs: float  # the same with those that are left

    def __str__(self) -> str:
        return f"{self.chips - self.lost} of {self.chips} NVSwitch chips work: {self.left_tbs:.1f} of {self.full_tbs:.1f} TB/s"


def fabric_of(rack: Rack, nodes: Iterable[Node]) -> Fabric:
    """What the switches of a rack carry now, of all its nodes; nothing where it has no switches."""
    chips = rack.switch_trays * CHIPS_PER_TRAY
    lost = min(len(rack.lost_chips), chips)
    per_chip = sum(node.gpus for node in nodes if is_joined(node)) * PORT_TBS
    return Fabric(chips, lost, round(chips * per_chip, 3), round((chips - lost) * per_chip, 3))


def mark_fabric(node: Node, fabric: Fabric, rank: int, at: Instant) -> None:
    """Tell a node that hangs on the rack's switches what is left of its fabric, and any other that nothing is lost."""
    known = node.marks.get((Flag.DEGRADED, SWITCHES), OFF)
    lost = fabric.lost > 0 and is_joined(node)
    if lost or known.on:
        since = known.since if known.on and lost else at
        node.marks[Flag.DEGRADED, SWITCHES] = Mark(on=lost, rank=rank, since=since, reason=str(fabric) if lost else "")


def is_joined(node: Node) -> bool:
    """Whether the node's NVLink goes through switches of its rack: not where its domain is itself."""
    return node.domain not in (None, node.name)
