"""Racks, and which work they take."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from clusters.domain.ids import Instant


class RackState(StrEnum):
    """From all work to none; what runs goes on in each."""

    OPEN = "open"
    NO_NEW_LONG_JOBS = "no_new_long_jobs"  # only work that ends before its maintenance
    DRAINING = "draining"  # nothing new, and some work still runs
    OUT = "out"  # out of service


#: Racks in these states give no nodes, not even for swaps.
SHUT = frozenset({RackState.DRAINING, RackState.OUT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The state of a rack, since when, why, and who has it so."""

    state: RackState
    until: Instant | None = None  # when its maintenance begins
    since: Instant | None = None
    reason: str = ""
    by: str = ""


OPEN = Service(state=RackState.OPEN)


class Rack:
    """Where nodes are drawn; keeps its identity while nodes come and go."""

    __slots__ = ("block", "fabric_gbps", "lost_chips", "name", "service", "switch_trays")

    def __init__(self, name: str, block: str, switch_trays: int, fabric_gbps: int | None = None) -> None:
        self.name = name
        self.block = block
        self.switch_trays = switch_trays
        self.lost_chips: dict[tuple[int, int], str] = {}  # (switch tray, chip of it), both from 1 -> why
        self.service = OPEN  # which work it takes
        self.fabric_gbps = fabric_gbps  # gigabits a second of each GPU's own port to the network
