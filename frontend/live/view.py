"""The fleet as browsers see it: one byte a node for condition and for use, and the job on it, kept from position to position.

Only domains that an event has touched since are read again (`space.stamp`), so following a fleet costs what changes, not what there is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from clusters.domain.books import CONDITION_CODE, CONDITIONS, USE_CODE, USES
from clusters.domain.books_of import domain_uses, holder_of
from clusters.domain.jobs import TERMINAL, JobState
from clusters.domain.state import ClusterState, Job
from frontend.live.frames import Capacity, Clock, Counts, Delta, Fleet, Rack, Snapshot
from frontend.live.layout import Layout, lay_out
from scheduling.capacity import domain_levels

_Look = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What looks different since the last position."""

    since: int
    nodes: list[int]  # draw indexes, ascending
    jobs: list[str]  # sorted


class FleetView:
    """Follows one cluster. Whoever calls it holds the state still."""

    def __init__(self, state: ClusterState, log_epoch: str) -> None:
        self.log_epoch = log_epoch
        self.epoch = ""
        self.seq = -1
        self._looks: dict[str, _Look] = {}
        self._lay(lay_out(state))
        self.advance(state)

    def advance(self, state: ClusterState) -> Changes | None:
        """Read what changed up to the state's position; None where the layout changed, so that nothing sent before holds."""
        since = read_since = self.seq
        relaid = False
        if state.topology is not self.layout.topology:
            relaid = self._lay_again(lay_out(state))
            read_since = -1  # dense indexes mean other nodes now
        nodes = self._read_nodes(state, read_since)
        jobs = self._read_jobs(state)
        self.seq = state.seq
        return None if relaid else Changes(since=since, nodes=nodes, jobs=jobs)

    def snapshot(self, state: ClusterState, fleet: Fleet | None) -> Snapshot:
        """Everything; the state is at the view's position."""
        layout = self.layout
        jobs = sorted({holder for holder in self.holder if holder})
        number = {job: index for index, job in enumerate(jobs)}
        return Snapshot(
            epoch=self.epoch,
            seq=self.seq,
            cluster=state.name,
            clock=clock_of(state),
            blocks=layout.blocks,
            racks=tuple(Rack(rack.name, rack.block, rack.first, rack.count) for rack in layout.racks),
            nodes=layout.nodes,
            domains=layout.domains,
            node_domain=layout.node_domain,
            condition=bytes(self.condition),
            use=bytes(self.use),
            jobs=jobs,
            node_job=[number.get(holder, -1) for holder in self.holder],
            counts=self.counts(),
            job_counts=job_counts(state),
            fleet=fleet,
            rack_states=rack_states(state),
        )

    def delta(self, state: ClusterState, changes: Changes, fleet: Fleet | None) -> Delta:
        """The frame of what `advance` found; the state is at the view's position."""
        return Delta(
            epoch=self.epoch,
            from_=changes.since,
            to=self.seq,
            nodes=[(place, self.condition[place], self.use[place], self.holder[place]) for place in changes.nodes],
            counts=self.counts(),
            capacity=capacity_of(state),
            job_counts=job_counts(state),
            jobs=changes.jobs,
            clock=clock_of(state),
            fleet=fleet,
            rack_states=rack_states(state),
        )

    def counts(self) -> Counts:
        """Both partitions, by name."""
        return Counts(
            nodes=len(self.condition),
            condition={condition.value: self.condition.count(code) for code, condition in enumerate(CONDITIONS)},
            use={use.value: self.use.count(code) for code, use in enumerate(USES)},
        )

    def _lay_again(self, layout: Layout) -> bool:
        """Take a new layout; whether it draws anything elsewhere than the old one."""
        if layout.epoch(self.log_epoch) != self.epoch:
            self._lay(layout)
            return True
        self.layout = layout
        return False

    def _lay(self, layout: Layout) -> None:
        self.layout = layout
        self.epoch = layout.epoch(self.log_epoch)
        self.condition = bytearray(len(layout.nodes))
        self.use = bytearray(len(layout.nodes))
        self.holder = [""] * len(layout.nodes)

    def _read_nodes(self, state: ClusterState, since: int) -> list[int]:
        changed: list[int] = []
        for domain, stamp in enumerate(state.space.stamp):
            if stamp > since:
                self._read_domain(state, domain, changed)
        changed.sort()
        return changed

    def _read_domain(self, state: ClusterState, domain: int, changed: list[int]) -> None:
        layout = self.layout
        first = layout.topology.domains[domain].first
        for dense, use in enumerate(domain_uses(state, domain), first):
            place = layout.draw[dense]
            node = state.nodes[layout.nodes[place]]
            look = (CONDITION_CODE[node.condition], USE_CODE[use], holder_of(node))
            if look != (self.condition[place], self.use[place], self.holder[place]):
                self.condition[place], self.use[place], self.holder[place] = look
                changed.append(place)

    def _read_jobs(self, state: ClusterState) -> list[str]:
        looks = {job.id: _look(state, job) for job in state.jobs.values()}
        changed = {job for job, look in looks.items() if self._looks.get(job) != look} | (self._looks.keys() - looks.keys())
        self._looks = looks
        return sorted(changed)


def _look(state: ClusterState, job: Job) -> _Look:
    """What pages show of a job; each event of a job changes some of it."""
    return (
        job.state, job.generation, job.priority, job.blocked, job.reason, job.started_at,
        job.id in state.lost, len(job.held_nodes), len(job.unstarted), len(job.leaving),
    )  # fmt: skip


def clock_of(state: ClusterState) -> Clock:
    """The anchor of the cluster's clock: readers compute the present from it."""
    return Clock(state.clock.wall, state.clock.cluster_time, state.clock.speed)


def rack_states(state: ClusterState) -> dict[str, str]:
    """The racks that do not take all work, and which they take."""
    return {name: state.racks[name].service.state.value for name in sorted(state.closed_racks)}


def job_counts(state: ClusterState) -> dict[str, int]:
    """Jobs by state: those alive now, and all that ever ended."""
    counts = dict.fromkeys((job_state.value for job_state in JobState), 0)
    for job in state.jobs.values():
        if job.state not in TERMINAL:
            counts[job.state.value] += 1
    for ended in TERMINAL:
        counts[ended.value] = state.tally.get(ended.value, 0)
    return counts


def capacity_of(state: ClusterState) -> Capacity:
    """What the domains have now."""
    domains = domain_levels(state)
    return Capacity(
        nodes=sum(nodes for nodes, _ in domains),
        unavailable=sum(nodes - available for nodes, available in domains),
        levels=[(*level, count) for level, count in sorted(Counter(domains).items())],
    )
