"""Feeds a history from the log: availability of domains, failures, and which jobs used how much.

`note` is called with each event and the state it was folded into, so whoever folds a log can watch it on the way. A node counts as
unavailable while it may not take new work, for whatever reason: failed, in repair, quarantined, draining, absent. Nodes whose domain is
unknown are a data error, part of no domain, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from clusters.domain.events import Event, PolicyActivated
from clusters.domain.evolve import evolve
from clusters.domain.health_events import NodeChecked, RackStateChanged
from clusters.domain.ids import Instant
from clusters.domain.job_events import JobPlaced, WorkStopped
from clusters.domain.jobs import JobRequest
from clusters.domain.state import ClusterState
from scheduling.domain.capacity.advice import JobShape
from scheduling.domain.capacity.history import History

#: What ends, or interrupts, a placement.
_ENDS = frozenset({"JobFinished", "JobFailed", "JobCancelled", "JobRequeued"})


class _Standing(NamedTuple):
    domain: str
    out: bool  # may not take new work
    failures: int


class _Placement(NamedTuple):
    at: Instant
    request: JobRequest
    nodes: int


class Watch:
    """Collects from events what the capacity model needs."""

    def __init__(self) -> None:
        self.history = History()
        self._nodes: dict[str, _Standing] = {}
        self._domains: dict[str, list[int]] = {}  # domain -> [nodes, unavailable]
        self._placed: dict[str, _Placement] = {}
        self._node_time: dict[JobShape, int] = {}

    def note(self, state: ClusterState, event: Event) -> None:
        """Take in an event that `state` has just folded."""
        for node in self._nodes_of(state, event):
            self._note_node(state, node, event)
        if isinstance(event.payload, JobPlaced):
            self._note_placed(state, event.payload, event.occurred_at)
        elif event.kind in _ENDS:
            self._note_ended(event.subject, event.occurred_at)

    def mix(self, now: Instant) -> dict[JobShape, int]:
        """Node-time of each shape of job that ran on whole nodes, up to now."""
        used = dict(self._node_time)
        for placement in self._placed.values():
            _add(used, placement, now)
        return used

    def _nodes_of(self, state: ClusterState, event: Event) -> Iterable[str]:
        """The nodes whose standing the event may have changed."""
        payload = event.payload
        if isinstance(payload, WorkStopped):  # a node that work kept in its domain may leave it with the work
            return payload.nodes
        if isinstance(payload, RackStateChanged):
            return [node.name for node in state.nodes.values() if node.rack == payload.rack]
        if isinstance(payload, PolicyActivated):  # it may have ended the wait for checks
            return [name for name, standing in self._nodes.items() if standing.out]
        node = getattr(payload, "node", None)
        return (node,) if isinstance(node, str) else ()

    def _note_node(self, state: ClusterState, name: str, event: Event) -> None:
        node, at = state.nodes.get(name), event.occurred_at
        before = self._nodes.pop(name, None)
        after = None if node is None or node.domain is None else _Standing(node.domain, not node.placeable, node.failures)
        if after is not None:
            self._nodes[name] = after
        told = not isinstance(event.payload, NodeChecked)  # a check finds what failed before
        if told and before is not None and after is not None and after.failures > before.failures:
            self.history.interrupted(at, after.domain)
        if before is not None and after is not None and before[:2] == after[:2]:
            return
        for standing, sign in ((before, -1), (after, 1)):
            if standing is not None:
                counts = self._domains.setdefault(standing.domain, [0, 0])
                counts[0] += sign
                counts[1] += sign * standing.out
        for domain in {standing.domain for standing in (before, after) if standing is not None}:
            self.history.observe(at, domain, *self._domains[domain])

    def _note_placed(self, state: ClusterState, payload: JobPlaced, at: Instant) -> None:
        job = state.jobs.get(payload.job)
        nodes = 0 if any(part.gpus for part in payload.slices) else sum(len(part.nodes) for part in payload.slices)
        if job is not None and nodes:
            self._placed[payload.job] = _Placement(at, job.request, nodes)

    def _note_ended(self, job: str, at: Instant) -> None:
        placement = self._placed.pop(job, None)
        if placement is not None:
            _add(self._node_time, placement, at)


def watch_log(events: Iterable[Event]) -> tuple[Watch, ClusterState]:
    """Fold a log from its first event and watch it."""
    state, watch = ClusterState(), Watch()
    for event in events:
        evolve(state, event)
        watch.note(state, event)
    return watch, state


def _add(used: dict[JobShape, int], placement: _Placement, until: Instant) -> None:
    request = placement.request
    shape = JobShape(nodes=placement.nodes, unit=request.slice_size or 1, max_slice=request.max_slice, tail=request.tail)
    used[shape] = used.get(shape, 0) + placement.nodes * max(0, until - placement.at)
