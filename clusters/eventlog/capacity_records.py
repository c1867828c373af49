"""What the capacity page reads of a log without folding it: availability of domains, node-time of jobs, and the books over time.

A projection. Domains have one row each, with the time spent at each level; shapes of jobs one row each, with the node-time of those that
ended; and for each of TIERS the books are sampled at whole multiples of its width, where something happened in between. At a sample's
instant the books are those after all that happened before it, so a chart that steps from sample to sample is right at each.

What the fold needs beside the state follows from the state, so it is kept only as long as that is, and made again after a restart.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet

from clusters.domain.books_of import read_books
from clusters.domain.events import Event
from clusters.domain.evolve import evolve
from clusters.domain.ids import HOUR, MINUTE, Duration, Instant
from clusters.domain.jobs import TERMINAL, JobRequest, JobState
from clusters.domain.state import ClusterState, Job
from clusters.eventlog.models import BooksSample, DomainRecord, ShapeRecord
from clusters.eventlog.projector import Projection, Rows, live_build
from clusters.eventlog.sql import placeholders

#: Width of samples -> how long they are kept: a week at ten minutes, a year at six hours; at most 1,460 rows each.
TIERS: dict[Duration, Duration] = {10 * MINUTE: 7 * 24 * HOUR, 6 * HOUR: 365 * 24 * HOUR}

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
_ADD_SAMPLE = (
    f"INSERT INTO clusters_bookssample (cluster_id, build, width, at, seq, books) VALUES ({placeholders(6)}) ON CONFLICT DO NOTHING"
)
_OLDEST_SAMPLE = f"SELECT MIN(at) FROM clusters_bookssample WHERE {_BUILD} AND width = %s"
_PRUNE = f"DELETE FROM clusters_bookssample WHERE {_BUILD} AND width = %s AND at <= %s"


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


class _Sample(NamedTuple):
    """The books at an instant; `sure` that it lies behind the event before."""

    seq: int
    books: str
    sure: bool


@dataclass(slots=True)
class _Memory:
    """What goes with a state."""

    domains: dict[str, list[int]] = field(default_factory=dict)  # domain -> [nodes, unavailable]
    at: Instant | None = None  # of the latest event; None: not known


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
        for key, sample in _samples(state, memory, event):
            rows.setdefault("samples", {}).setdefault(key, sample)
        node = getattr(event.payload, "node", None)
        before = _standing(state, node)
        used = _used(state.jobs.get(event.subject)) if event.kind in _ENDS else None
        evolve(state, event)
        after = _standing(state, node)
        if before != after:
            _note_node(memory, event, before, after, rows.setdefault("domains", {}))
        if used is not None and used.ended():
            _note_used(used, event, rows.setdefault("shapes", {}))

    def write(self, cursor: CursorWrapper, cluster_id: int, build: int, rows: Rows) -> None:
        key = (cluster_id, build)
        _write_domains(cursor, key, rows.get("domains", {}))
        cursor.executemany(_ADD_SHAPE, [(*key, shape, seq, time) for shape, (seq, time) in rows.get("shapes", {}).items()])
        samples: dict[tuple[Duration, Instant], _Sample] = rows.get("samples", {})
        for width in {width for width, _ in samples}:
            _write_samples(cursor, (*key, width), {at: sample for (wide, at), sample in samples.items() if wide == width})


# ---- domains


def _remember(state: ClusterState) -> _Memory:
    memory = _Memory(at=None if state.seq else 0)
    for name in state.nodes:
        standing = _standing(state, name)
        if standing is not None:
            _count(memory, standing, 1)
    return memory


def _standing(state: ClusterState, name: object) -> _Standing | None:
    node = state.nodes.get(name) if isinstance(name, str) else None
    return None if node is None or node.domain is None else _Standing(node.domain, not node.placeable, node.failures)


def _count(memory: _Memory, standing: _Standing, sign: int) -> None:
    counts = memory.domains.setdefault(standing.domain, [0, 0])
    counts[0] += sign
    counts[1] += sign * standing.out


def _note_node(memory: _Memory, event: Event, before: _Standing | None, after: _Standing | None, seen: dict[str, list[_Seen]]) -> None:
    interrupted = before is not None and after is not None and after.failures > before.failures
    for standing, sign in ((before, -1), (after, 1)):
        if standing is not None:
            _count(memory, standing, sign)
    for domain in {standing.domain for standing in (before, after) if standing is not None}:
        here = interrupted and after is not None and domain == after.domain
        nodes, unavailable = memory.domains[domain]
        seen.setdefault(domain, []).append(_Seen(event.seq, event.occurred_at, nodes, unavailable, here))


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


# ---- the books


def _samples(state: ClusterState, memory: _Memory, event: Event) -> Iterator[tuple[tuple[Duration, Instant], _Sample]]:
    """The books before the event, for each sampling instant that it lies behind: the first since the event before, and the last."""
    before, at = memory.at, event.occurred_at
    text = ""
    if state.seq:
        for width in TIERS:
            last = at // width * width
            first = last if before is None else (before // width + 1) * width
            for instant in {first, last} if first <= last else ():
                text = text or _text_of(state)
                yield (width, instant), _Sample(state.seq, text, before is not None)
    memory.at = at if before is None else max(before, at)


def _text_of(state: ClusterState) -> str:
    books = read_books(state)
    parts: dict[str, Mapping[Any, int]] = {"use": books.use, "condition": books.condition}
    return json.dumps({part: {name.value: count for name, count in counts.items() if count} for part, counts in parts.items()})


def _write_samples(cursor: CursorWrapper, key: tuple[int, int, int], samples: dict[Instant, _Sample]) -> None:
    """The first that was written for an instant stands. One that is not sure to lie behind the event before it is taken only where the
    log had begun before it: there, whatever lay between has been written."""
    cursor.execute(_OLDEST_SAMPLE, key)
    oldest = cursor.fetchone()[0]
    kept = {at: sample for at, sample in samples.items() if sample.sure or (oldest is not None and at > oldest)}
    cursor.executemany(_ADD_SAMPLE, [(*key, at, sample.seq, sample.books) for at, sample in kept.items()])
    if kept:
        cursor.execute(_PRUNE, (*key, max(kept) - TIERS[key[2]]))


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
