"""The options of a simulated fleet, as ClusterCreated keeps them: names and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from clusters.domain.clock import MAX_SPEED
from clusters.domain.errors import InvalidRequest
from clusters.domain.ids import SECOND, Duration

#: Hard failures a node-day: published rates for 4 GPUs lie between 1.2e-3 and 3.3e-3.
FAILURES_PER_NODE_DAY = 2.0e-3

REPAIR_PUBLISHED = 0  # the mixture of published repair times, see failures.py
REPAIR_FLAT = 1  # exponential with the mean `repair_mean_h`


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions:
    """How a fleet behaves."""

    seed: int = 1
    failures_per_node_day: float = FAILURES_PER_NODE_DAY  # while the node is up; 0 = never
    failure_cv: float = 1.75  # of the gaps between failures in the fleet; measured fleets: 1.5 to 2
    lemon_nodes: float = 0.012  # share of nodes that fail again and again
    lemon_share: float = 0.20  # share of failures that they cause
    repair_model: int = REPAIR_PUBLISHED
    repair_mean_h: float = 240.0  # of the flat model
    bad_repairs: float = 0.0  # share of repairs that leave the fault in the node, which its check finds
    check_s: float = 300.0  # from asked to check a node to the answer
    launch_s: float = 20.0  # from placed to running
    stop_s: float = 10.0  # from told to stop to stopped
    generator: int = 0  # 1: it submits jobs of its own while few wait
    pause_idle: int = 0  # 1: its clock stands while nobody has looked for a while
    speed: float = 1.0  # at which its clock runs when somebody looks again

    def __post_init__(self) -> None:
        """Refuse what no fleet could be; raises InvalidRequest."""
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise InvalidRequest(name, value, f"give a number from {low:g} to {high:g}")

    @property
    def launch(self) -> Duration:
        """From placed to running."""
        return round(self.launch_s * SECOND)

    @property
    def check(self) -> Duration:
        """From asked to check a node to the answer."""
        return round(self.check_s * SECOND)

    @property
    def stop(self) -> Duration:
        """From told to stop to stopped."""
        return round(self.stop_s * SECOND)

    def numbers(self) -> dict[str, float]:
        """As ClusterCreated keeps them."""
        return {name: float(value) for name, value in asdict(self).items()}


_RANGES: dict[str, tuple[float, float]] = {
    "seed": (0, 2**53),
    "failures_per_node_day": (0, 10),
    "failure_cv": (1, 10),
    "lemon_nodes": (0, 0.5),
    "lemon_share": (0, 1),
    "repair_model": (REPAIR_PUBLISHED, REPAIR_FLAT),
    "repair_mean_h": (0.01, 100_000),
    "bad_repairs": (0, 0.9),
    "check_s": (0, 86_400),
    "launch_s": (0, 86_400),
    "stop_s": (0, 86_400),
    "generator": (0, 1),
    "pause_idle": (0, 1),
    "speed": (0, MAX_SPEED),
}


def fleet_options(numbers: Mapping[str, float]) -> FleetOptions:
    """Read the options back; unknown names, as later versions may add, are passed over."""
    whole = {field.name: field.type == "int" for field in fields(FleetOptions)}
    values: dict[str, Any] = {name: int(value) if whole[name] else value for name, value in numbers.items() if name in whole}
    return FleetOptions(**values)
