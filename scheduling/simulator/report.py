"""How the jobs of a cluster fared, read from its log: how long they waited and why, what recovered them, and how full the cluster was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusters.domain import job_events as ev
from clusters.domain.events import Event, Payload
from clusters.domain.health_events import NodeFailed
from clusters.domain.ids import HOUR, SECOND, Duration, Instant, job_id
from clusters.domain.inventory_events import NodeRegistered, NodeRemoved
from clusters.domain.jobs import JobRequest

#: Cluster time after which a job counts as having waited.
WAITED = 60 * SECOND

EXAMPLES = 5

#: Upper bounds of the size classes, in GPUs.
SIZE_CLASSES: tuple[tuple[int, str], ...] = (
    (3, "below a node"),
    (4, "1 node"),
    (63, "2-15 nodes"),
    (64, "16 nodes"),
    (256, "17-64 nodes"),
    (1 << 62, "over 64 nodes"),
)


@dataclass(slots=True)
class JobStory:
    """What became of one job."""

    job: str
    request: JobRequest
    arrival: str
    submitted_at: Instant
    placed_at: Instant | None = None  # first
    outcome: str = ""  # "finished", "failed" or "cancelled" once it has ended
    codes: set[str] = field(default_factory=set)  # of the refusals while it waited

    @property
    def wait(self) -> Duration | None:
        """From submitted to first placed."""
        return None if self.placed_at is None else self.placed_at - self.submitted_at


class _Meter:
    """GPU-time in use: who holds what since when."""

    def __init__(self) -> None:
        self.gpus: dict[str, int] = {}  # of each node
        self.used: Duration = 0  # GPU-microseconds of what has been given back
        self._held: dict[tuple[str, str], tuple[int, Instant]] = {}  # (job, node) -> GPUs, since when

    def take(self, job: str, part: ev.SliceAssignment, at: Instant) -> None:
        for node in part.nodes:
            self._held[job, node] = (len(part.gpus) or self.gpus.get(node, 0), at)

    def give_back(self, job: str, node: str, at: Instant) -> None:
        gpus, since = self._held.pop((job, node), (0, at))
        self.used += gpus * (at - since)

    def lose(self, node: str, at: Instant) -> None:
        for job, name in list(self._held):
            if name == node:
                self.give_back(job, node, at)

    def used_by(self, now: Instant) -> Duration:
        return self.used + sum(gpus * (now - since) for gpus, since in self._held.values())


class ClusterReport:
    """A fold over the log of one cluster."""

    def __init__(self) -> None:
        self.stories: dict[str, JobStory] = {}
        self.counts: Counter[str] = Counter()  # swaps, moves, stalls, failures
        self.first: Instant | None = None  # submission
        self.last: Instant = 0
        self._meter = _Meter()

    def take(self, event: Event) -> None:
        """Fold one event."""
        self.last = max(self.last, event.occurred_at)
        handler = _HANDLERS.get(event.kind)
        if handler is not None:
            handler(self, event, event.payload)

    @property
    def waited(self) -> list[JobStory]:
        """Jobs that waited longer than WAITED, longest first."""
        waits = [(story.wait, story) for story in self.stories.values()]
        long = [(wait, story) for wait, story in waits if wait is not None and wait > WAITED]
        return [story for _, story in sorted(long, key=lambda pair: (-pair[0], pair[1].job))]

    def blocked(self, code: str) -> int:
        """Jobs that were refused for this reason at least once."""
        return sum(code in story.codes for story in self.stories.values())

    @property
    def utilisation(self) -> float:
        """GPU-hours in use of all GPU-hours, from the first submission to the last event."""
        capacity = sum(self._meter.gpus.values()) * (self.last - (self.first or self.last))
        return self._meter.used_by(self.last) / capacity if capacity else 0.0

    def summary(self) -> dict[str, Any]:
        """In plain values."""
        outcomes = Counter(story.outcome or "not ended" for story in self.stories.values())
        return {
            "jobs": len(self.stories),
            "outcomes": dict(sorted(outcomes.items())),
            "cluster_hours": round((self.last - (self.first or self.last)) / HOUR, 1),
            "waited_over_60s": len(self.waited),
            "examples": [_example(story) for story in self.waited[:EXAMPLES]],
            "capacity_blocked": self.blocked("capacity-blocked"),
            "topology_blocked": self.blocked("topology-blocked"),
            **{what: self.counts[what] for what in ("swaps", "moves", "stalls", "failures")},
            "utilisation": round(self.utilisation, 4),
            "wait_s": {name: _quantiles(waits) for name, waits in self._waits_by_size().items() if waits},
        }

    def _waits_by_size(self) -> dict[str, list[float]]:
        classes: dict[str, list[float]] = {name: [] for _, name in SIZE_CLASSES}
        per_node = max(self._meter.gpus.values(), default=1)
        for story in self.stories.values():
            if story.wait is not None:
                gpus = story.request.gpus or (story.request.nodes or 0) * per_node
                classes[next(name for upto, name in SIZE_CLASSES if gpus <= upto * per_node / 4)].append(story.wait / SECOND)
        return classes


def _example(story: JobStory) -> dict[str, Any]:
    asked = {"gpus": story.request.gpus} if story.request.nodes is None else {"nodes": story.request.nodes}
    wait = round((story.wait or 0) / SECOND)
    return {"job": story.job, "name": story.request.name, **asked, "wait_s": wait, "blocked_by": sorted(story.codes)}


def _quantiles(values: Sequence[float]) -> dict[str, float]:
    ranked = sorted(values)
    at = {f"p{percent}": round(ranked[min(len(ranked) - 1, len(ranked) * percent // 100)], 1) for percent in (50, 90, 99)}
    return {"jobs": len(ranked), **at}


def _submitted(report: ClusterReport, event: Event, payload: ev.JobSubmitted) -> None:
    name = job_id(event.seq)
    report.stories[name] = JobStory(name, payload.request, payload.arrival, event.occurred_at)
    if report.first is None:
        report.first = event.occurred_at


def _placed(report: ClusterReport, event: Event, payload: ev.JobPlaced) -> None:
    story = report.stories[payload.job]
    if story.placed_at is None:
        story.placed_at = event.occurred_at
    for part in payload.slices:
        report._meter.take(payload.job, part, event.occurred_at)


def _swapped(report: ClusterReport, event: Event, payload: ev.NodeSwapped) -> None:
    report.counts["swaps"] += 1
    report._meter.take(payload.job, ev.SliceAssignment(domain="", nodes=(payload.new,)), event.occurred_at)


def _moved(report: ClusterReport, event: Event, payload: ev.SliceMoved) -> None:
    report.counts["moves"] += 1
    report._meter.take(payload.job, payload.assignment, event.occurred_at)


def _stopped(report: ClusterReport, event: Event, payload: ev.WorkStopped) -> None:
    for node in payload.nodes:
        report._meter.give_back(payload.job, node, event.occurred_at)


def _failed(report: ClusterReport, event: Event, payload: NodeFailed) -> None:
    report.counts["failures"] += 1
    if payload.fencing:
        report._meter.lose(payload.node, event.occurred_at)


def _blocked(report: ClusterReport, _: Event, payload: ev.JobBlocked) -> None:
    report.stories[payload.job].codes.add(payload.code)


def _stalled(report: ClusterReport, _: Event, __: ev.SliceStalled) -> None:
    report.counts["stalls"] += 1


def _registered(report: ClusterReport, _: Event, payload: NodeRegistered) -> None:
    report._meter.gpus[payload.node] = payload.gpus


def _removed(report: ClusterReport, event: Event, payload: NodeRemoved) -> None:
    report._meter.lose(payload.node, event.occurred_at)
    report._meter.gpus.pop(payload.node, None)


def _ending(outcome: str) -> Callable[[ClusterReport, Event, Any], None]:
    def handle(report: ClusterReport, _: Event, payload: ev.JobFinished | ev.JobFailed | ev.JobCancelled) -> None:
        story = report.stories.get(payload.job)
        if story is not None and not story.outcome:
            story.outcome = outcome

    return handle


_BY_TYPE: dict[type[Payload], Callable[[ClusterReport, Event, Any], None]] = {
    ev.JobSubmitted: _submitted,
    ev.JobPlaced: _placed,
    ev.JobBlocked: _blocked,
    ev.NodeSwapped: _swapped,
    ev.SliceMoved: _moved,
    ev.SliceStalled: _stalled,
    ev.WorkStopped: _stopped,
    ev.JobFinished: _ending("finished"),
    ev.JobFailed: _ending("failed"),
    ev.JobCancelled: _ending("cancelled"),
    NodeFailed: _failed,
    NodeRegistered: _registered,
    NodeRemoved: _removed,
}
_HANDLERS = {cls.__name__: handler for cls, handler in _BY_TYPE.items()}


def lines_of(summary: dict[str, Any]) -> Iterator[str]:
    """A report's summary in lines for people."""
    outcomes = ", ".join(f"{number} {outcome}" for outcome, number in summary["outcomes"].items())
    yield f"{summary['jobs']} jobs in {summary['cluster_hours']} cluster hours: {outcomes}"
    yield f"{summary['waited_over_60s']} jobs waited more than 60 s of cluster time; for instance"
    for example in summary["examples"]:
        size = f"{example['nodes']} nodes" if "nodes" in example else f"{example['gpus']} GPUs"
        yield f"  {example['job']} {example['name']}, {size}: {example['wait_s']} s, {', '.join(example['blocked_by']) or 'not refused'}"
    yield f"refused at least once: {summary['capacity_blocked']} capacity-blocked, {summary['topology_blocked']} topology-blocked"
    yield f"{summary['failures']} failures: {summary['swaps']} swaps, {summary['moves']} slice moves, {summary['stalls']} stalls"
    yield f"{summary['utilisation']:.1%} of all GPU-hours in use"
    for name, waits in summary["wait_s"].items():
        yield f"  wait of {waits['jobs']} jobs {name}: p50 {waits['p50']} s, p90 {waits['p90']} s, p99 {waits['p99']} s"
