"""The event log of this installation: the one in Django's default database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from clusters.domain.decision import Decide, Refusal
from clusters.domain.events import NewEvent, PolicyActivated
from clusters.domain.ids import Instant
from clusters.domain.inventory_events import ClockSet, ClusterCreated
from clusters.domain.policy import Policy
from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.log import wall_now
from clusters.eventlog.port import Committed, Guard, Receipt
from clusters.eventlog.request import Request

#: The source of what the control plane itself says of a cluster.
SYSTEM = "system"


@cache
def default_log() -> DatabaseLog:
    """The log; its live states are shared by all threads of the process."""
    return DatabaseLog()


def opening(
    name: str,
    *,
    connector: str = "none",
    options: Mapping[str, float] | None = None,
    by: str = "",
    speed: float = 1.0,
    cluster_time: Instant | None = None,
) -> list[NewEvent]:
    """The first events of a cluster: a running clock and the default policy."""
    wall = wall_now()
    start = wall if cluster_time is None else cluster_time
    payloads = (
        ClusterCreated(name=name, connector=connector, options=dict(options or {})),
        ClockSet(wall=wall, cluster_time=start, speed=speed),
        PolicyActivated(version=1, policy=Policy(), reason="defaults of a new cluster", by=by),
    )
    return [NewEvent(payload, start, SYSTEM, f"create/{type(payload).__name__}") for payload in payloads]


def create_cluster(
    name: str,
    *,
    connector: str = "none",
    options: Mapping[str, float] | None = None,
    by: str = "",
    speed: float = 1.0,
    cluster_time: Instant | None = None,
) -> None:
    """Create an empty cluster; raises ClusterExists."""
    events = opening(name, connector=connector, options=options, by=by, speed=speed, cluster_time=cluster_time)
    default_log().create(name, events)


def append_facts(cluster: str, facts: Sequence[NewEvent], guard: Guard | None = None) -> tuple[Receipt, ...]:
    """Store facts, all or none; repeated ones are absorbed. `guard` looks in the transaction whether the writer may still write."""
    return default_log().append_facts(cluster, facts, guard)


def commit(cluster: str, request: Request, decide: Decide) -> Committed | Refusal:
    """Decide on the state at the head and store what follows."""
    return default_log().commit(cluster, request, decide)


def subscribe(callback: Callable[[str], None]) -> Callable[[], None]:
    """Be told the cluster's name after each append of this process; returns how to stop. Following `head` is the truth."""
    return default_log().subscribe(callback)
