"""From the days one node runs between interruptions to the days of a rack and the hours of a fleet, and to unavailability."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.domain.errors import InvalidRequest

HOURS_PER_DAY = 24

#: Days that one node of four GPUs runs between interruptions, by published rates per GPU-day.
PUBLISHED_NODE_DAYS = 490.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruptions:
    """How often hardware interrupts work, by how much of it the work spans."""

    node_days: float  # days between interruptions of one node
    rack_days: float  # of one rack
    fleet_hours: float  # hours between interruptions anywhere in the fleet
    fleet_per_day: float  # interruptions a day


def interruptions(*, node_days: float, nodes_per_rack: int, nodes: int) -> Interruptions:
    """Rates of independent nodes add up; raises InvalidRequest."""
    _check_days("node_days", node_days)
    return Interruptions(
        node_days=node_days,
        rack_days=node_days / nodes_per_rack,
        fleet_hours=node_days * HOURS_PER_DAY / nodes,
        fleet_per_day=nodes / node_days,
    )


def unavailability_of(*, node_days: float, repair_days: float) -> float:
    """The share of time a node is away: it runs for `node_days`, then is in repair for `repair_days`."""
    _check_days("node_days", node_days)
    _check_days("repair_days", repair_days)
    return repair_days / (node_days + repair_days)


def repair_days_of(*, node_days: float, unavailability: float) -> float:
    """The mean repair that an unavailability implies."""
    _check_days("node_days", node_days)
    if not 0 <= unavailability < 1:
        raise InvalidRequest("unavailability", unavailability, "give a share from 0 to below 1, such as 0.02 for 2 %")
    return node_days * unavailability / (1 - unavailability)


def _check_days(field: str, value: float) -> None:
    if not 0 < value < float("inf"):
        raise InvalidRequest(field, value, "give a number of days above 0")
