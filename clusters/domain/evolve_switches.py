"""How lost and repaired switches change the state: the rack keeps which chips are lost, its nodes are degraded by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusters.domain import switch_events as ev
from clusters.domain.events import Event
from clusters.domain.evolve_health import refresh_condition
from clusters.domain.fabric import CHIPS_PER_TRAY, fabric_of, mark_fabric
from clusters.domain.ids import Instant
from clusters.domain.racks import Rack
from clusters.domain.state import ClusterState, Node


def _failed(state: ClusterState, event: Event, payload: ev.SwitchTrayFailed) -> None:
    rack = state.racks.get(payload.rack)
    if rack is not None and payload.tray <= rack.switch_trays:
        rack.lost_chips |= dict.fromkeys(_chips(payload), payload.reason)
        weigh(state, rack, event.seq, event.occurred_at)


def _repaired(state: ClusterState, event: Event, payload: ev.SwitchTrayRepaired) -> None:
    rack = state.racks.get(payload.rack)
    if rack is not None:
        for chip in _chips(payload):
            rack.lost_chips.pop(chip, None)
        weigh(state, rack, event.seq, event.occurred_at)


def _chips(payload: ev.SwitchTrayFailed | ev.SwitchTrayRepaired) -> list[tuple[int, int]]:
    """(tray, chip) of each chip that the event is about."""
    chips = range(1, CHIPS_PER_TRAY + 1) if payload.chip is None else (payload.chip,)
    return [(payload.tray, chip) for chip in chips]


def weigh(state: ClusterState, rack: Rack, rank: int, at: Instant) -> None:
    """Bring the marks and conditions of the rack's nodes to what is left of its fabric."""
    nodes = nodes_of(state, rack)
    fabric = fabric_of(rack, nodes)
    for node in nodes:
        mark_fabric(node, fabric, rank, at)
        refresh_condition(state, node)


def nodes_of(state: ClusterState, rack: Rack) -> list[Node]:
    """The nodes of a rack."""
    return [node for node in state.nodes.values() if node.rack == rack.name]


HANDLERS: dict[type, Callable[[ClusterState, Event, Any], None]] = {
    ev.SwitchTrayFailed: _failed,
    ev.SwitchTrayRepaired: _repaired,
}
