"""What a job does of which a slice has lost nodes and has no place, where it is not to hold: it starts anew elsewhere, whole or smaller.

Nothing is stopped in vain: the job gives up what it has only where it provably starts again once its work has stopped, and those nodes are
kept for it until it does. A job that shrinks gives up whole slices, or units of its only one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from clusters.domain.decision import Refusal
from clusters.domain.events import Payload
from clusters.domain.job_events import AfterStop, JobResized, StopRequested
from clusters.domain.jobs import JobRequest, OnStall
from clusters.domain.space_events import SpaceReserved
from clusters.domain.state import Job
from scheduling.domain.placement import Placement
from scheduling.domain.releasing import CLAIM, release
from scheduling.domain.stopping import stop_work
from scheduling.domain.trial import Trial


def give_in(trial: Trial, job: Job) -> list[Payload]:
    """The events that start the stalled job anew; empty where it is to hold, or could not start."""
    for request in _tries(job):
        placement = _starts(trial, job, request)
        if placement is not None:
            return _events(trial, job, request, placement)
    return []


def _tries(job: Job) -> Iterator[JobRequest]:
    """The requests that the job may be started anew with, the largest first."""
    request = job.request
    if request.on_stall is OnStall.HOLD:
        return
    yield request
    if request.on_stall is OnStall.SHRINK and not request.parts and request.nodes is not None:
        sizes = [len(part.nodes) for part in job.slices]
        unit = request.slice_size or 1
        smaller = [sum(sizes[:count]) for count in range(len(sizes) - 1, 0, -1)]
        smaller += range(sizes[0] - unit, 0, -unit)
        yield from (replace(request, nodes=nodes, plan=None) for nodes in smaller if nodes < request.nodes)


def _starts(trial: Trial, job: Job, request: JobRequest) -> Placement | None:
    """Where the request runs once the job's own work has stopped."""
    twin = trial.fork()
    release(twin, job)
    outcome = twin.place(request)
    return None if isinstance(outcome, Refusal) else outcome


def _events(trial: Trial, job: Job, request: JobRequest, placement: Placement) -> list[Payload]:
    nodes = tuple(sorted(job.held_nodes))
    size = "" if request.nodes == job.request.nodes else f" on {request.nodes} nodes"
    reason = f"a slice lost nodes and has no place: starts anew{size}"
    stop = StopRequested(job=job.id, generation=job.generation, nodes=nodes, after=AfterStop.WAITING, reason=reason)
    resized = [JobResized(job=job.id, nodes=request.nodes, reason=reason)] if size and request.nodes is not None else []
    kept = tuple(name for part in placement for name in part.nodes)
    claim = SpaceReserved(job=job.id, nodes=kept, starts_at=trial.now, expires_at=trial.now + CLAIM, reason=reason)
    trial.stopping.add(job.id)
    return [*resized, *stop_work(trial.state, stop), claim]
