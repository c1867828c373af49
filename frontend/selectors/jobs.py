"""Jobs: lists from the projection, which knows ended ones too, with the live state laid over it, which is ahead of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import msgspec
from django.db.models import Count, Max, QuerySet

from clusters.domain.errors import UnknownSubject
from clusters.domain.events import Event
from clusters.domain.ids import SECOND
from clusters.domain.job_events import JobSubmitted
from clusters.domain.jobs import TERMINAL, JobKind, JobRequest, JobState
from clusters.domain.lost_work import LossCause
from clusters.domain.state import ClusterState, Job
from clusters.eventlog.job_records import job_records
from clusters.eventlog.models import JobRecord
from clusters.eventlog.store import default_log
from frontend.selectors.clusters import now_of, reading
from frontend.selectors.life import Life, life_of
from scheduling.domain.refusals import explain
from scheduling.domain.trial import Trial
from scheduling.domain.waiting import refusal_now


class JobItem(msgspec.Struct, frozen=True):
    """One job in a list."""

    id: str
    name: str
    state: str
    kind: str
    team: str
    nodes: int | None  # as asked for: either nodes or gpus
    gpus: int | None
    priority: int
    slices: list[int]  # nodes of each slice that it has now
    submitted_by: str
    submitted_at_us: int  # cluster time, as all of these
    placed_at_us: int | None  # first
    started_at_us: int | None  # first
    ended_at_us: int | None
    wait_s: float | None  # from submitted to first placed
    generation: int
    swaps: int
    moves: int
    code: str  # of the last refusal, while it waits or is stalled
    reason: str  # why it waits, was stopped or failed, in words


class JobPage(msgspec.Struct, frozen=True):
    """Some jobs, newest first, and how to go on reading."""

    items: list[JobItem]
    next: str | None  # give this as `before`


class SliceFacts(msgspec.Struct, frozen=True):
    """One slice: its nodes by slot; null is a slot whose node was lost."""

    domain: str
    nodes: list[str | None]
    gpus: tuple[int, ...]  # of the only node, for work below a node; else empty


class Waiting(msgspec.Struct, frozen=True):
    """Why a job has no nodes, or lacks some."""

    code: str
    text: str
    counts: dict[str, int | str]


class Kept(msgspec.Struct, frozen=True):
    """What is kept for a job that waits."""

    starts_at_us: int  # cluster time by which it starts, while nothing fails and work keeps its time limits
    nodes: list[str]
    domains: list[str]
    reason: str


class LostWork(msgspec.Struct, frozen=True):
    """What disruptions of one cause have cost."""

    cause: LossCause
    times: int
    rollback_gpu_s: int  # work to be done again
    stall_gpu_s: int  # GPUs that stood still until it went on


class JobFacts(msgspec.Struct, frozen=True):
    """One job."""

    id: str
    state: str
    request: JobRequest  # as submitted
    submitted_by: str
    priority: int
    generation: int
    swaps: int
    moves: int
    preemptions: int
    reason: str  # why it was stopped, requeued or held, or how it failed
    waiting: Waiting | None
    kept: Kept | None  # nodes kept for it until it starts
    slices: list[SliceFacts]  # that it has, or had when it ended
    submitted_at_us: int  # cluster time, as all of these
    placed_at_us: int | None  # first
    started_at_us: int | None  # first
    ended_at_us: int | None
    checkpoint_step: int | None  # of the last checkpoint reported
    checkpoint_at_us: int | None
    lost_work: list[LostWork]  # booked so far, most first


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Values of one filter are alternatives; none means all."""

    states: tuple[JobState, ...] = ()
    kinds: tuple[JobKind, ...] = ()
    teams: tuple[str, ...] = ()

    def takes(self, job: Job) -> bool:
        """Whether a live job is one of these."""
        request = job.request
        pairs: Iterable[tuple[Collection[object], object]] = (
            (self.states, job.state),
            (self.kinds, request.kind),
            (self.teams, request.team),
        )
        return all(not chosen or value in chosen for chosen, value in pairs)

    def records(self, cluster: str) -> QuerySet[JobRecord]:
        """The rows of these jobs, newest first."""
        return job_records(cluster, states=self.states, kinds=self.kinds, teams=self.teams)


def jobs_page(cluster: str, chosen: JobFilter, *, before: int | None, limit: int) -> JobPage:
    """The newest of these jobs, or those submitted before a position; raises UnknownCluster."""
    records = chosen.records(cluster)
    rows = list((records if before is None else records.filter(seq__lt=before))[: limit + 1])
    items = list_items(cluster, chosen, rows, first=before is None)
    return JobPage(items[:limit], items[limit - 1].id if len(items) > limit else None)


def list_items(cluster: str, chosen: JobFilter, rows: Iterable[JobRecord], *, first: bool) -> list[JobItem]:
    """Rows of the projection as they are now; on the first page, what is too new to be among them comes before."""
    newest = newest_record(cluster) if first else 0
    with reading(cluster) as state:
        trial = Trial(state, now_of(state))
        fresh = _fresh(trial, chosen, newest) if first else []
        return [*fresh, *(record_item(trial, record) for record in rows)]


def newest_record(cluster: str) -> int:
    """Position of the newest submission that the projection has; 0 for none."""
    newest: int | None = job_records(cluster).aggregate(newest=Max("seq"))["newest"]
    return newest or 0


def _fresh(trial: Trial, chosen: JobFilter, newest: int) -> list[JobItem]:
    """Jobs so new that the projection does not have them yet, newest first."""
    jobs = (job for job in reversed(trial.state.jobs.values()) if job.seq > newest and chosen.takes(job))
    return [live_item(trial, job) for job in sorted(jobs, key=lambda job: -job.seq)]


def job_choices(cluster: str, field: str) -> dict[str, int]:
    """How many jobs there are of each state, kind or team."""
    rows = job_records(cluster).order_by().values_list(field).annotate(count=Count("job"))
    return {str(value): int(count) for value, count in rows}


def live_item(trial: Trial, job: Job) -> JobItem:
    """A job that has not ended."""
    request = job.request
    return JobItem(
        id=job.id,
        name=request.name,
        state=job.state.value,
        kind=request.kind.value,
        team=request.team,
        nodes=request.nodes,
        gpus=request.gpus,
        priority=job.priority,
        slices=[len(part.nodes) for part in job.slices],
        submitted_by=job.submitted_by,
        submitted_at_us=job.submitted_at,
        placed_at_us=job.placed_at,
        started_at_us=job.started_at,
        ended_at_us=None,
        wait_s=None if job.placed_at is None else (job.placed_at - job.submitted_at) / SECOND,
        generation=job.generation,
        swaps=job.swaps,
        moves=job.moves,
        code=job.blocked,
        reason=reason_of(trial, job),
    )


def record_item(trial: Trial, record: JobRecord) -> JobItem:
    """A job of the projection, with what the live state knows better."""
    job = trial.state.jobs.get(record.job)
    if job is not None:
        return msgspec.structs.replace(
            live_item(trial, job),
            placed_at_us=record.placed_at if record.placed_at is not None else job.placed_at,
            started_at_us=record.started_at if record.started_at is not None else job.started_at,
            ended_at_us=record.ended_at,
            wait_s=record.wait_s,
        )
    ended = trial.state.ended.get(record.job)
    return JobItem(
        id=record.job,
        name=record.name,
        state=ended.value if ended is not None else record.state,
        kind=record.kind,
        team=record.team,
        nodes=record.nodes,
        gpus=record.gpus,
        priority=record.priority,
        slices=[],
        submitted_by=record.submitted_by,
        submitted_at_us=record.submitted_at,
        placed_at_us=record.placed_at,
        started_at_us=record.started_at,
        ended_at_us=record.ended_at,
        wait_s=record.wait_s,
        generation=record.generation,
        swaps=record.swaps,
        moves=record.moves,
        code="",
        reason=record.reason,
    )


def reason_of(trial: Trial, job: Job) -> str:
    """Why the job waits now, was stopped or held, in words; "" when there is nothing to say."""
    refusal = refusal_now(trial, job)
    return explain(refusal) if refusal else job.reason


def _slices_of(job: Job | None, life: Life) -> list[SliceFacts]:
    if job is not None and job.state not in TERMINAL:
        return [SliceFacts(part.domain, list(part.nodes), part.gpus) for part in job.slices]
    return [SliceFacts(part.domain, list(part.nodes), part.gpus) for part in life.slices]


def _waiting(state: ClusterState, job: Job | None) -> Waiting | None:
    refusal = refusal_now(Trial(state, now_of(state)), job) if job else None
    return Waiting(refusal.code, explain(refusal), dict(refusal.counts)) if refusal else None


def _kept(state: ClusterState, name: str) -> Kept | None:
    reservation = state.reservations.get(name)
    if reservation is None:
        return None
    domains = dict.fromkeys(state.nodes[node].domain for node in reservation.nodes if node in state.nodes)
    return Kept(reservation.starts_at, list(reservation.nodes), [domain for domain in domains if domain is not None], reservation.reason)


def job_events(cluster: str, name: str) -> list[Event]:
    """The events of one job, its submission first; raises UnknownCluster, UnknownSubject."""
    events = list(default_log().about(cluster, name))
    if not events or not isinstance(events[0].payload, JobSubmitted):
        raise UnknownSubject(f"there is no job {name!r} in cluster {cluster}")
    return events


def job_submitter(cluster: str, name: str) -> str:
    """Who submitted the job; raises UnknownCluster, UnknownSubject."""
    first = next(default_log().about(cluster, name), None)
    if first is None or not isinstance(first.payload, JobSubmitted):
        raise UnknownSubject(f"there is no job {name!r} in cluster {cluster}")
    return first.payload.submitted_by


def job_facts(state: ClusterState, events: Sequence[Event]) -> JobFacts:
    """The job of these events, with what the state says of it. The caller holds the state."""
    submitted = cast(JobSubmitted, events[0].payload)
    name, life = events[0].subject, life_of(events)
    job = state.jobs.get(name)
    return JobFacts(
        id=name,
        state=(job.state if job else life.state).value,
        request=submitted.request,
        submitted_by=submitted.submitted_by,
        priority=life.priority,
        generation=life.generation,
        swaps=life.swaps,
        moves=life.moves,
        preemptions=life.preemptions,
        reason=job.reason if job else life.reason,
        waiting=_waiting(state, job),
        kept=_kept(state, name),
        slices=_slices_of(job, life),
        submitted_at_us=life.submitted_at,
        placed_at_us=life.placed_at,
        started_at_us=life.started_at,
        ended_at_us=life.ended_at,
        checkpoint_step=life.checkpoint_step,
        checkpoint_at_us=life.checkpoint_at,
        lost_work=_lost_work(life),
    )


def _lost_work(life: Life) -> list[LostWork]:
    found = [LostWork(cause, spent.times, spent.rollback_gpu_s, spent.stall_gpu_s) for cause, spent in life.lost_work.items()]
    return sorted(found, key=lambda lost: (-lost.rollback_gpu_s - lost.stall_gpu_s, lost.cause))
