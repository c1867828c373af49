"""How long work runs: what its limits enforce, and what can be expected of the rest.

Two ends of a job are told apart. The *bound* is when it has ended for certain: its time limit, or the expected run time of work that may
be restarted, since such work can be made to give way. The *planned end* is what reservations count on: the bound where there is one, else
what its user expects, else what the policy says; it moves on by doubling steps where work is still there after it.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusters.domain.events import Payload
from clusters.domain.ids import MINUTE, SECOND, Duration, Instant
from clusters.domain.job_events import AfterStop, StopRequested
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.state import ClusterState, Job
from scheduling.domain.stopping import stop_work
from scheduling.domain.wording import exactly

#: What is allowed for between a job's place and its start, and again between the request to stop and the stop.
LAUNCH: Duration = MINUTE
STOP: Duration = MINUTE

#: Work that is over its time is first given so much more, or an eighth of its time where that is longer.
LEAST_STEP: Duration = 5 * MINUTE


def ends_by(request: JobRequest, now: Instant) -> Instant | None:
    """When the request, started now, will have ended for certain, or can be made to; None where nothing ends it."""
    seconds = request.time_limit_s
    if seconds is None and request.restartable:
        seconds = request.expected_run_s
    return None if seconds is None else now + LAUNCH + seconds * SECOND + STOP


def outlasts_rack(state: ClusterState, request: JobRequest, node: str, now: Instant) -> bool:
    """Whether the request, started on the node now, may still be there when the maintenance of its rack begins."""
    rack = state.racks.get(state.nodes[node].rack)
    until = rack.service.until if rack is not None else None
    end = ends_by(request, now)
    return until is not None and (end is None or until < end)


def run_time(request: JobRequest, policy: Policy) -> Duration:
    """How long the work is taken to run."""
    return (request.time_limit_s or request.expected_run_s or policy.default_run_s) * SECOND


def planned_end(job: Job, policy: Policy, now: Instant) -> Instant:
    """When the nodes of a job that has some will be free, never before `now`."""
    if job.holders_stop or job.placed_at is None:
        return now
    run = run_time(job.request, policy)
    end = (job.placed_at + LAUNCH if job.started_at is None else job.started_at) + run + STOP
    step = max(LEAST_STEP, run // 8)
    late = now - end
    if late < 0:
        return end
    while step <= late:
        step *= 2
    return end + step


def limit_of(job: Job) -> Instant | None:
    """When the job's time limit is reached; None while it does not run."""
    if job.request.time_limit_s is None or job.started_at is None:
        return None
    return job.started_at + job.request.time_limit_s * SECOND


def enforce_limits(state: ClusterState, now: Instant) -> Iterator[tuple[str, list[Payload]]]:
    """Each job that has run to its limit, and what asks its work to stop; it fails once that has stopped."""
    for name in sorted(state.limited):
        job = state.jobs[name]
        limit = limit_of(job)
        if limit is not None and limit <= now:
            reason = f"ran to its time limit of {exactly(job.request.time_limit_s or 0)}"
            nodes = tuple(sorted(job.held_nodes))
            stop = StopRequested(job=name, generation=job.generation, nodes=nodes, after=AfterStop.FAILED, reason=reason)
            yield name, stop_work(state, stop)
