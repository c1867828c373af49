"""Creating a cluster whose nodes are processes of this machine."""

from __future__ import annotations

from clusters.connectors.simulated.creation import Shape
from clusters.domain.events import NewEvent
from clusters.domain.state import LOCAL
from clusters.eventlog.store import SYSTEM, default_log, opening

#: Processes that one machine is asked for at most.
MOST_NODES = 1_000


def create_local(name: str, shape: Shape, *, by: str) -> None:
    """Create the cluster; its nodes are up once somebody runs them. Raises ClusterExists."""
    events = opening(name, connector=LOCAL, by=by)
    start = events[0].occurred_at
    events += [NewEvent(payload, start, SYSTEM, f"create/inventory/{number}") for number, payload in enumerate(shape.inventory("local"))]
    default_log().create(name, events)
