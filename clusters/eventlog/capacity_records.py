"""What the capacity page reads of a log without folding it: availability of domains, node-time of jobs, and the books over time.

A projection. Domains have one row each, with the time spent at each level; shapes of jobs one row each, with the node-time of those that
ended; the samples of the books are told of in `books_samples`.

What the fold needs beside the state follows from the state, so it is kept only as long as that is, and made again after a restart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakKeyDictionary

from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet

from clusters.domain.events import Event, PolicyActivated
from clusters.domain.evolve import evolve
from clusters.domain.health_events import NodeChecked, RackStateChanged
from clusters.domain.ids import Duration, Instant
from clusters.domain.job_events import WorkStopped
from clusters.domain.jobs import TERMINAL, JobRequest, JobState
from clusters.domain.state import ClusterState, Job
from clusters.eventlog.books_samples import BooksReader, write_samples
from clusters.eventlog.models import BooksSample, DomainRecord, ShapeRecord
from clusters.eventlog.projector import Projection, Rows, live_build
from clusters.eventlog.sql import placeholders

#: What ends, or interrupts, a placement.
_ENDS = frozenset({"JobFinished", "JobFailed", "JobCancelled", "JobRequeued"})

_BUILD = "cluster_id = %s AND build = %s"
_DOMAINS = (
    f"SELECT domain, seq, first, since, nodes, unavailable, spells, interruptions, whole_outages FROM clusters_domainrecord WHERE {_BUILD} "
    "AND domain IN ({})"
)
_SET_DOMAIN = (
    "INSERT INTO clusters_domainrecord (cluster_id, build, domain, seq, first, since, nodes, unavailable, spells, interruptions, "
    f"whole_outages) VALUES ({placeholders(11)}) ON CONFLICT (cluster_id, build, domain) DO UPDATE SET seq = excluded.seq, "
    "since = excluded.since, nodes = excluded.nodes, unavailable = excluded.unavailable, spells = excluded.spells, "
    "interruptions = excluded.interruptions, whole_outages = excluded.whole_outages"
)
_ADD_SHAPE = (
    f"INSERT INTO clusters_shaperecord (cluster_id, build, shape, seq, node_time) VALUES ({placeholders(5)}) "
    "ON CONFLICT (cluster_id, build, shape) DO UPDATE SET seq = excluded.seq, "
    "node_time = clusters_shaperecord.node_time + excluded.node_time WHERE clusters_shaperecord.seq < excluded.seq"
)


class _Standing(NamedTuple):
    """What a node is to its domain."""

    domain: str
    out: bool  # may not take new work
    failures: int


class _Seen(NamedTuple):
    """A domain from an event on."""

    seq: int
    at: Instant
    nodes: int
    unavailable: int
    interrupted: bool


@dataclass(slots=True)
class _Memory:
    """What goes with a state."""

    domains: dict[str, list[int]] = field(default_factory=dict)  # domain -> [nodes, unavailable]
    books: BooksReader = field(default_factory=BooksReader)


class CapacityRecords(Projection):
    """Rows in three tables; see above."""

    name = "capacity"
    tables = {"clusters_domainrecord": "domain", "clusters_shaperecord": "shape", "clusters_bookssample": "at"}

    def __init__(self) -> None:
        self._memories: WeakKeyDictionary[ClusterState, _Memory] = WeakKeyDictionary()

    def fold(self, state: ClusterState, event: Event, rows: Rows) -> None:
        memory = self._memories.get(state)
        if memory is None:
            memory = self._memories[state] = _remember(state)
        for key, sample in memory.books.samples(state, event):
            rows.setdefault("samples", {}).setdefault(key, sample)
        before = {name: _standing(state, name) for name in _nodes_of(state, event)}
        used = _used(state.jobs.get(event.subject)) if event.kind in _ENDS else None
        evolve(state, event)
        for name, stood in before.items():
            stands = _standing(state, name)
            if stood != stands:
                _note_node(memory, event, stood, stands, rows.setdefault("domains", {}))
        if used is not None and used.ended():
            _note_used(used, event, rows.setdefault("shapes", {}))

    def write(self, cursor: CursorWrapper, cluster_id: int, build: int, rows: Rows) -> None:
        key = (cluster_id, build)
        _write_domains(cursor, key, rows.get("domains", {}))
        cursor.executemany(_ADD_SHAPE, [(*key, shape, seq, time) for shape, (seq, time) in rows.get("shapes", {}).items()])
        write_samples(cursor, key, rows.get("samples", {}))


# ---- domains


def _remember(state: ClusterState) -> _Memory:
    memory = _Memory()
    for name in state.nodes:
        standing = _standing(state, name)
        if standing is not None:
            _count(memory, standing, 1)
    return memory


def _nodes_of(state: ClusterState, event: Event) -> Iterable[str]:
    """The nodes whose standing the event, not folded yet, may change. One that work kept in its domain may leave it with the work."""
    payload = event.payload
    if isinstance(payload, WorkStopped):
        return payload.nodes
    if isinstance(payload, RackStateChanged):
        return [node.name for node in state.nodes.values() if node.rack == payload.rack]
    if isinstance(payload, PolicyActivated):  # it may end the wait for checks
        return [node.name for node in state.nodes.values() if node.unchecked is not None]
    node = getattr(payload, "node", None)
    return (node,) if isinstance(node, str) else ()


def _standing(state: ClusterState, name: str) -> _Standing | None:
    node = state.nodes.get(name)
    return None if node is None or node.domain is None else _Standing(node.domain, not node.placeable, node.failures)


def _count(memory: _Memory, standing: _Standing, sign: int) -> None:
    counts = memory.domains.setdefault(standing.domain, [0, 0])
    counts[0] += sign
    counts[1] += sign * standing.out


def _note_node(memory: _Memory, event: Event, before: _Standing | None, after: _Standing | None, seen: dict[str, list[_Seen]]) -> None:
    told = not isinstance(event.payload, NodeChecked)  # a check finds what failed before
    interrupted = told and before is not None and after is not None and after.failures > before.failures
    for standing, sign in ((before, -1), (after, 1)):
        if standing is not None:
            _count(memory, standing, sign)
    for domain in {standing.domain for standing in (before, after) if standing is not None}:
        here = interrupted and after is not None and domain == after.domain
        nodes, unavailable = memory.domains[domain]
        steps = seen.setdefault(domain, [])
        if steps and steps[-1].seq == event.seq:  # the event is about several nodes: they count together
            here = steps.pop().interrupted or here
        steps.append(_Seen(event.seq, event.occurred_at, nodes, unavailable, here))


def _write_domains(cursor: CursorWrapper, key: tuple[int, int], seen: dict[str, list[_Seen]]) -> None:
    if not seen:
        return
    cursor.execute(_DOMAINS.format(placeholders(len(seen))), (*key, *seen))
    known = {row[0]: _Times(*row[1:]) for row in cursor.fetchall()}
    cursor.executemany(_SET_DOMAIN, [(*key, domain, *_grown(known.get(domain), steps)) for domain, steps in seen.items()])


class _Times(NamedTuple):
    """The columns of a domain's row after its name."""

    seq: int
    first: Instant
    since: Instant
    nodes: int
    unavailable: int
    spells: str
    interruptions: int
    whole_outages: int


def _grown(known: _Times | None, steps: list[_Seen]) -> _Times:
    """The row after these events; those that it has seen already change nothing. A change dated before the last counts from the last.

    A failure at the very moment from which the domain is watched is how it was found, and no interruption.
    """
    first = steps[0].at if known is None else known.first
    row = known or _Times(0, first, first, 0, 0, "{}", 0, 0)
    spells: dict[str, int] = json.loads(row.spells)
    for step in steps:
        if step.seq <= row.seq:
            continue
        at = max(step.at, row.since)
        if row.nodes and at > row.since:
            level = f"{row.nodes}/{row.unavailable}"
            spells[level] = spells.get(level, 0) + at - row.since
        outage = _is_whole(step.nodes, step.unavailable) and not _is_whole(row.nodes, row.unavailable)
        row = _Times(
            step.seq,
            first,
            at,
            step.nodes,
            step.unavailable,
            "",
            row.interruptions + (step.interrupted and at > first),
            row.whole_outages + outage,
        )
    return row._replace(spells=json.dumps(spells))


def _is_whole(nodes: int, unavailable: int) -> bool:
    """Whether all nodes are away; that a lone node is says nothing of correlation."""
    return unavailable == nodes > 1


# ---- jobs


class _Used(NamedTuple):
    """A placement that an event may end."""

    job: Job
    was: JobState
    since: Instant
    nodes: int

    def ended(self) -> bool:
        """Whether the event, folded by now, has ended it."""
        return self.job.placed_at is None or (self.job.state in TERMINAL and self.was not in TERMINAL)


def _used(job: Job | None) -> _Used | None:
    nodes = 0 if job is None else placed_nodes(job)
    return None if job is None or job.placed_at is None or not nodes else _Used(job, job.state, job.placed_at, nodes)


def placed_nodes(job: Job) -> int:
    """The whole nodes of the job's present placement; 0 for work below a node."""
    return 0 if any(part.gpus for part in job.slices) else job.width


def _note_used(used: _Used, event: Event, shapes: dict[str, tuple[int, int]]) -> None:
    shape = shape_key(used.job.request, used.nodes)
    time = shapes.get(shape, (0, 0))[1] + used.nodes * max(0, event.occurred_at - used.since)
    shapes[shape] = (event.seq, time)


def shape_key(request: JobRequest, nodes: int) -> str:
    """What of a job decides how it is cut, as the rows name it."""
    return f"{nodes}:{request.slice_size or 1}:{request.max_slice or ''}:{int(request.tail)}"


# ---- reading


def domain_records(cluster: str) -> QuerySet[DomainRecord]:
    """The cluster's domains, each with the time it spent at each level."""
    return DomainRecord.objects.filter(cluster__name=cluster, build=live_build(CapacityRecords.name))


def shape_records(cluster: str) -> QuerySet[ShapeRecord]:
    """The node-time of each shape of job, over those that ended."""
    return ShapeRecord.objects.filter(cluster__name=cluster, build=live_build(CapacityRecords.name))


def books_samples(cluster: str, width: Duration) -> QuerySet[BooksSample]:
    """The books over time, oldest first; `width` is one of TIERS."""
    return BooksSample.objects.filter(cluster__name=cluster, build=live_build(CapacityRecords.name), width=width)
