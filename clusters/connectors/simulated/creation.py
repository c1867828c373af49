"""Creating a simulated cluster: its racks, its nodes, and the options of its fleet, in one append."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clusters.connectors.simulated.options import FleetOptions
from clusters.domain.errors import InvalidRequest
from clusters.domain.events import NewEvent, Payload
from clusters.domain.ids import Instant
from clusters.domain.inventory_events import NodeRegistered, RackRegistered
from clusters.domain.state import SIMULATED
from clusters.eventlog.store import SYSTEM, default_log, opening

#: An NVL72 rack: 18 compute trays, of 4 GPUs each, and 9 switch trays.
NODES_PER_RACK = 18
GPUS_PER_NODE = 4
SWITCH_TRAYS = 9

#: Racks that share a spine group.
RACKS_PER_BLOCK = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Equal racks, each one NVLink domain."""

    racks: int
    nodes_per_rack: int = NODES_PER_RACK
    gpus: int = GPUS_PER_NODE  # of each node
    racks_per_block: int = RACKS_PER_BLOCK

    def __post_init__(self) -> None:
        """Refuse what no machine room holds; raises InvalidRequest."""
        for name, most in (("racks", 10_000), ("nodes_per_rack", 144), ("gpus", 16), ("racks_per_block", 10_000)):
            value = getattr(self, name)
            if not 1 <= value <= most:
                raise InvalidRequest(name, value, f"give a whole number from 1 to {most}")

    def inventory(self, product: str = "simulated") -> Iterator[Payload]:
        """What the cluster has."""
        wide = len(str(self.racks))
        for number in range(self.racks):
            rack = f"r{number + 1:0{max(3, wide)}d}"
            block = f"b{number // self.racks_per_block + 1:02d}"
            yield RackRegistered(rack=rack, block=block, switch_trays=SWITCH_TRAYS if self.nodes_per_rack > 1 else 0)
            for place in range(self.nodes_per_rack):
                yield NodeRegistered(node=f"{rack}-n{place + 1:02d}", rack=rack, domain=rack, gpus=self.gpus, product=product)


def create_simulated(
    name: str,
    shape: Shape,
    options: FleetOptions,
    *,
    by: str,
    cluster_time: Instant | None = None,
    facts: Sequence[NewEvent] = (),
) -> None:
    """Create the cluster, its clock running at the options' speed, with `facts` told of it at once; raises ClusterExists."""
    log = default_log()
    events = opening(name, connector=SIMULATED, options=options.numbers(), by=by, speed=options.speed, cluster_time=cluster_time)
    start = events[0].occurred_at
    events += [NewEvent(payload, start, SYSTEM, f"create/inventory/{number}") for number, payload in enumerate(shape.inventory())]
    log.create(name, [*events, *facts])
