"""The jobs of a cluster as lists show them: a projection, so that ended jobs can be listed and filtered too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet

from clusters.domain.events import Event
from clusters.domain.evolve import evolve
from clusters.domain.ids import SECOND, Instant
from clusters.domain.jobs import TERMINAL, JobKind, JobState
from clusters.domain.state import ClusterState, Job
from clusters.eventlog.models import JobRecord
from clusters.eventlog.projector import Projection, Rows, live_build
from clusters.eventlog.sql import placeholders


class _Row(NamedTuple):
    """The columns of a record after cluster and build."""

    job: str
    seq: int
    name: str
    kind: str
    team: str
    submitted_by: str
    nodes: int | None
    gpus: int | None
    priority: int
    state: str
    reason: str
    blocked: str
    generation: int
    swaps: int
    moves: int
    submitted_at: Instant
    placed_at: Instant | None
    started_at: Instant | None
    ended_at: Instant | None
    wait_s: float | None


#: What is written once and stays: of several placements, starts and reports of the end, the first.
_FIRST = frozenset({"placed_at", "started_at", "ended_at", "wait_s"})

_COLUMNS = ("cluster_id", "build", *_Row._fields)
_UPSERT = (
    f"INSERT INTO clusters_jobrecord ({', '.join(_COLUMNS)}) VALUES ({placeholders(len(_COLUMNS))}) "
    "ON CONFLICT (cluster_id, build, job) DO UPDATE SET "
    + ", ".join(
        f"{field} = COALESCE(clusters_jobrecord.{field}, excluded.{field})" if field in _FIRST else f"{field} = excluded.{field}"
        for field in _Row._fields
        if field != "job"
    )
)


class JobRecords(Projection):
    """One row a job."""

    name = "jobs"
    tables = {"clusters_jobrecord": "job"}

    def fold(self, state: ClusterState, event: Event, rows: Rows) -> None:
        before = state.jobs.get(event.subject)  # the event may end it, and the state forget it
        evolve(state, event)
        job = before or state.jobs.get(event.subject)
        if job is not None:
            rows[job.id] = _row(job, event, rows.get(job.id))

    def write(self, cursor: CursorWrapper, cluster_id: int, build: int, rows: Rows) -> None:
        if rows:
            cursor.executemany(_UPSERT, [(cluster_id, build, *row) for row in rows.values()])


def _row(job: Job, event: Event, before: _Row | None) -> _Row:
    placed_at = before.placed_at if before is not None and before.placed_at is not None else job.placed_at
    started_at = before.started_at if before is not None and before.started_at is not None else job.started_at
    ended_at = before.ended_at if before is not None and before.ended_at is not None else _end(job, event)
    return _Row(
        job=job.id,
        seq=job.seq,
        name=job.request.name,
        kind=job.request.kind.value,
        team=job.request.team,
        submitted_by=job.submitted_by,
        nodes=job.request.nodes,
        gpus=job.request.gpus,
        priority=job.priority,
        state=job.state.value,
        reason=job.reason,
        blocked=job.blocked,
        generation=job.generation,
        swaps=job.swaps,
        moves=job.moves,
        submitted_at=job.submitted_at,
        placed_at=placed_at,
        started_at=started_at,
        ended_at=ended_at,
        wait_s=None if placed_at is None else (placed_at - job.submitted_at) / SECOND,
    )


def _end(job: Job, event: Event) -> Instant | None:
    return event.occurred_at if job.state in TERMINAL else None


def job_records(
    cluster: str,
    *,
    states: Iterable[JobState] = (),
    kinds: Iterable[JobKind] = (),
    teams: Iterable[str] = (),
) -> QuerySet[JobRecord]:
    """The cluster's jobs, newest first; values of one filter are alternatives."""
    records: QuerySet[JobRecord] = JobRecord.objects.filter(cluster__name=cluster, build=live_build(JobRecords.name))
    chosen: dict[str, list[Any]] = {"state": list(states), "kind": list(kinds), "team": list(teams)}
    return records.filter(**{f"{field}__in": values for field, values in chosen.items() if values})
