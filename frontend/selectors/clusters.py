"""Clusters as a whole."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec

from clusters.domain.books import Condition, Use
from clusters.domain.books_of import Books, read_books
from clusters.domain.clock import cluster_now
from clusters.domain.errors import BrokenInvariant, UnknownEvent
from clusters.domain.ids import Instant
from clusters.domain.state import ClusterState
from clusters.eventlog.follow import LiveCluster
from clusters.eventlog.live import live
from clusters.eventlog.log import wall_now
from clusters.eventlog.store import default_log
from frontend.live.fleets import fleet_of
from frontend.live.frames import Clock, Fleet
from frontend.live.layout import Layout, lay_out
from frontend.live.view import clock_of, job_counts

logger = logging.getLogger(__name__)

#: Uses of nodes on which something runs.
BUSY = (Use.EXTERNAL, Use.STOPPING, Use.ALLOCATED, Use.LENT, Use.SHARED)


class TeamLoss(msgspec.Struct, frozen=True):
    """What disruptions of one cause have cost a team's jobs, as booked so far."""

    team: str
    cause: str
    rollback_gpu_s: int  # work to be done again
    stall_gpu_s: int  # GPUs that stood still until it went on


class ClusterSummary(msgspec.Struct, frozen=True):
    """One cluster in figures, at one position."""

    name: str
    connector: str
    seq: int
    policy_version: int
    racks: int
    nodes: int
    condition: dict[str, int]  # nodes
    use: dict[str, int]  # nodes
    unchecked: int  # nodes, repaired, that wait for their check
    jobs: dict[str, int]  # by state: those alive, and all that ever ended
    lost_work: list[TeamLoss]
    clock: Clock
    fleet: Fleet | None

    @property
    def in_use(self) -> int:
        """Nodes with work."""
        return sum(self.use[use] for use in BUSY)

    @property
    def unhealthy(self) -> int:
        """Nodes in any condition but healthy."""
        return self.nodes - self.condition[Condition.HEALTHY]


class Place(msgspec.Struct, frozen=True):
    """The position that a page is drawn at; the live socket goes on from there."""

    seq: int
    epoch: str


_layouts: dict[str, Layout] = {}


@contextmanager
def reading(cluster: str) -> Iterator[ClusterState]:
    """The cluster's state, held still; raises UnknownCluster."""
    with live(cluster).reading() as state:
        yield state


def cluster_names() -> tuple[str, ...]:
    """All clusters."""
    return default_log().clusters()


def cluster_summary(cluster: str) -> ClusterSummary:
    """One cluster; raises UnknownCluster."""
    with reading(cluster) as state:
        books: Books = read_books(state)
        return ClusterSummary(
            name=state.name,
            connector=state.connector,
            seq=state.seq,
            policy_version=state.policy_version,
            racks=len(state.racks),
            nodes=books.nodes,
            condition={condition.value: count for condition, count in books.condition.items()},
            use={use.value: count for use, count in books.use.items()},
            unchecked=sum(node.unchecked is not None for node in state.nodes.values()),
            jobs=job_counts(state),
            lost_work=[TeamLoss(team, cause, *spent) for (team, cause), spent in sorted(state.lost_work.items())],
            clock=clock_of(state),
            fleet=fleet_of(state),
        )


def readable_summaries(clusters: Iterable[str]) -> tuple[list[ClusterSummary], list[str]]:
    """These clusters, and the names of those whose log this version cannot read: one takes nothing from the others."""
    summaries, unreadable = [], []
    for name in clusters:
        try:
            summaries.append(cluster_summary(name))
        except (UnknownEvent, BrokenInvariant):
            logger.exception("cluster %r cannot be read", name)
            unreadable.append(name)
    return summaries, unreadable


def layout_of(state: ClusterState) -> Layout:
    """How the cluster is drawn; made once for each inventory. The caller holds the state."""
    layout = _layouts.get(state.name)
    if layout is None or layout.topology is not state.topology:
        layout = _layouts[state.name] = lay_out(state)
    return layout


def place_of(cluster: str, state: ClusterState) -> Place:
    """The position of the state that the caller holds."""
    followed: LiveCluster = live(cluster)
    return Place(state.seq, layout_of(state).epoch(followed.position.epoch))


def now_of(state: ClusterState) -> Instant:
    """Cluster time now."""
    return cluster_now(state, wall_now())
