"""Made-up histories whose truth is known: nodes that fail and are repaired, and racks that lose all their nodes at once."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from clusters.domain.ids import DAY
from scheduling.domain.capacity.history import History
from scheduling.domain.capacity.model import Outages

#: Days before the first that is watched, so that it begins as it goes on.
BEFORE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Rates, in days."""

    racks: int = 64
    nodes: int = 18
    node_days: float = 490  # a node runs so long
    repair: float = 10
    rack_days: float | None = None  # a rack runs so long until all of it goes
    rack_repair: float = 4

    @property
    def unavailability(self) -> float:
        return 1 - self._node_up * self._rack_up

    @property
    def rho(self) -> float:
        both = 1 - 2 * self._node_up * self._rack_up + self._node_up**2 * self._rack_up
        p = self.unavailability
        return (both - p * p) / (p * (1 - p))

    @property
    def outages(self) -> Outages:
        whole = 1 - self._rack_up
        return Outages(unavailability=self.unavailability, whole_rack_share=whole / self.unavailability)

    @property
    def _node_up(self) -> float:
        return self.node_days / (self.node_days + self.repair)

    @property
    def _rack_up(self) -> float:
        return 1.0 if self.rack_days is None else self.rack_days / (self.rack_days + self.rack_repair)


@dataclass(frozen=True, slots=True)
class Change:
    """From `at` (days) on the rack has so many nodes away."""

    at: float
    rack: int
    away: int


def changes(world: World, days: float, random: Random) -> list[Change]:
    """All changes up to a day, in order of time; those before day 0 are at 0."""
    found: list[Change] = []
    for rack in range(world.racks):
        rack_out = [] if world.rack_days is None else _outages(world.rack_days, world.rack_repair, days, random)
        steps = [(at, node, step) for node in range(world.nodes) for at, step in _outages(world.node_days, world.repair, days, random)]
        steps += [(at, world.nodes, step) for at, step in rack_out]
        down: set[int] = set()
        for at, node, step in sorted(steps):
            (down.add if step > 0 else down.discard)(node)
            away = world.nodes if world.nodes in down else len(down)
            found.append(Change(max(0.0, at), rack, away))
    return sorted(found, key=lambda change: change.at)


def _outages(up: float, down: float, days: float, random: Random) -> list[tuple[float, int]]:
    found: list[tuple[float, int]] = []
    at = -BEFORE + random.expovariate(1 / up)
    while at < days:
        end = at + random.expovariate(1 / down)
        found += [(at, 1), (end, -1)]
        at = end + random.expovariate(1 / up)
    return [(at, step) for at, step in found if at < days]


def history_of(world: World, found: list[Change], until: float) -> History:
    """What was watched up to a day."""
    history = History()
    for rack in range(world.racks):
        history.observe(0, str(rack), world.nodes, 0)
    for change in found:
        if change.at <= until:
            history.observe(int(change.at * DAY), str(change.rack), world.nodes, change.away)
    return history
