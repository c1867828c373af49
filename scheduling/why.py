"""Why a job waits, as programs and people get it: by command, API and page."""

from __future__ import annotations

import msgspec

from clusters.domain.clock import cluster_now
from clusters.domain.errors import UnknownSubject
from clusters.domain.ids import Instant
from clusters.eventlog.live import live
from clusters.eventlog.log import wall_now
from clusters.eventlog.store import default_log
from scheduling.domain import why as domain
from scheduling.domain.stalls import ShortSlice


class Kept(msgspec.Struct, frozen=True):
    """Nodes that are kept for a job."""

    nodes: list[str]
    starts_at_us: int  # when all of them are free, at the latest
    expires_at_us: int | None
    reason: str


class WouldStart(msgspec.Struct, frozen=True):
    """Something that would let the job start."""

    kind: str
    text: str
    params: dict[str, int | str | list[str]]  # what to do, by kind
    cost_gpu_hours: float | None  # work that would be done again
    at_us: int | None  # when it comes true by itself, as far as can be said


class NearestDomain(msgspec.Struct, frozen=True):
    """A domain in which a slice comes near to a place."""

    domain: str
    free: int  # nodes that it could have there


class SliceLacks(msgspec.Struct, frozen=True):
    """A slice of a running job that has lost nodes and has no place."""

    slice: int
    nodes: int  # of the whole slice
    missing: int
    domain: str  # where it is
    free: int  # nodes there that it could have
    best: list[NearestDomain]  # elsewhere, the most first


class JobWhy(msgspec.Struct, frozen=True):
    """Why a job waits, and what would let it start."""

    job: str
    seq: int  # found in the state after this position
    now_us: int  # cluster time, as all of these
    state: str
    code: str  # of the refusal; "" where nothing keeps it
    text: str
    counts: dict[str, int | str]
    position: int | None  # in the queue, from 1
    waiting: int  # jobs in the queue
    reservation: Kept | None
    lacks: list[SliceLacks]  # of a job that runs
    counterfactuals: list[WouldStart]


def job_why(cluster: str, job: str) -> JobWhy:
    """Why the job waits; raises UnknownCluster, UnknownSubject."""
    with live(cluster).reading() as state:
        now = cluster_now(state, wall_now())
        living = state.jobs.get(job)
        if living is not None:
            return _answer(domain.why(state, living, now), state.seq, now)
        ended, seq = state.ended.get(job), state.seq
    if ended is None and next(default_log().about(cluster, job), None) is None:
        raise UnknownSubject(f"there is no job {job!r} in cluster {cluster}")
    outcome = ended.value if ended is not None else "ended"
    return JobWhy(job, seq, now, outcome, "", f"it does not wait: it has {_HAS.get(outcome, 'ended')}", {}, None, 0, None, [], [])


_HAS = {"finished": "finished", "failed": "failed", "cancelled": "been cancelled"}


def _answer(why: domain.Why, seq: int, now: Instant) -> JobWhy:
    kept = why.reservation
    return JobWhy(
        job=why.job,
        seq=seq,
        now_us=now,
        state=why.state.value,
        code=why.code,
        text=why.text,
        counts=dict(why.counts),
        position=why.position,
        waiting=why.waiting,
        reservation=Kept(list(kept.nodes), kept.starts_at, kept.expires_at, kept.reason) if kept else None,
        lacks=[_lacks(short) for short in why.lacks],
        counterfactuals=[
            WouldStart(found.kind.value, found.text, msgspec.to_builtins(found.params), found.cost_gpu_hours, found.at)
            for found in why.counterfactuals
        ],
    )


def _lacks(short: ShortSlice) -> SliceLacks:
    best = [NearestDomain(domain, free) for domain, free in short.best]
    return SliceLacks(short.slice, short.nodes, short.missing, short.domain, short.free, best)
