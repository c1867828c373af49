"""Commands on jobs, each decided on the state alone and answered with events or a refusal in words."""

from __future__ import annotations

from collections.abc import Sequence

from clusters.domain.commands import CancelJob, ChangePriority, HoldJob, ReleaseJob, SubmitJob, SubmitJobs
from clusters.domain.decision import Decision, Refusal
from clusters.domain.job_events import AfterStop, JobCancelled, JobChanged, JobHeld, JobReleased, JobSubmitted, StopRequested
from clusters.domain.jobs import PRIORITY_RANGE, QUEUED, TERMINAL, JobRequest, JobState
from clusters.domain.state import ClusterState, Job
from scheduling.domain.admission import not_admitted
from scheduling.domain.feasibility import could_never_fit, whole_space
from scheduling.domain.refusals import INFEASIBLE, infeasible
from scheduling.domain.shape import Asked, asked_of
from scheduling.domain.stopping import stop_work


def submit_job(state: ClusterState, command: SubmitJob) -> Decision | Refusal:
    """Accept what the inventory could serve, all healthy and empty; refuse the rest now rather than let it wait for ever."""
    refusal = not_admitted(state, command.request) or could_never_fit(whole_space(state), command.request, state.policy)
    return refusal or Decision(events=(JobSubmitted(request=command.request, submitted_by=command.by),))


def submit_jobs(state: ClusterState, command: SubmitJobs) -> Decision | Refusal:
    """Accept all, or refuse all for the first that could never be served."""
    refused = never_fitting(state, command.requests)
    if refused:
        return refused[min(refused)]
    return Decision(events=tuple(JobSubmitted(request=request, submitted_by=command.by) for request in command.requests))


def never_fitting(state: ClusterState, requests: Sequence[JobRequest]) -> dict[int, Refusal]:
    """Why some of the requests could never be served, by their places; each names the request that it means."""
    whole = whole_space(state)
    known: dict[Asked, Refusal | None] = {}
    refused: dict[int, Refusal] = {}
    for place, request in enumerate(requests):
        asked = asked_of(request)
        if asked not in known:
            known[asked] = could_never_fit(whole, request, state.policy)
        refusal = not_admitted(state, request) or known[asked]
        if refusal is not None:
            refused[place] = _of_place(place, refusal)
    return refused


def _of_place(place: int, refusal: Refusal) -> Refusal:
    """The refusal of one of many requests, by its place."""
    counts = {**refusal.counts, "field": f"jobs[{place}].{refusal.counts['field']}"}
    if refusal.code == INFEASIBLE:
        return infeasible(str(counts["field"]), counts["value"], str(counts["expected"]))
    return Refusal(code=refusal.code, message=f"{counts['field']}: {counts['expected']}", counts=counts)


def cancel_job(state: ClusterState, command: CancelJob) -> Decision | Refusal:
    """A job without running work ends now; otherwise its work is asked to stop, and the job ends once it has."""
    job = _living(state, command.job)
    if isinstance(job, Refusal):
        return job
    reason = command.reason or f"cancelled by {command.by}"
    if not job.held_nodes:
        return Decision(events=(JobCancelled(job=job.id, reason=reason),))
    if job.after is AfterStop.CANCELLED:
        return Refusal(code="state", message=f"job {job.id} is being cancelled already; it ends once its work has stopped")
    nodes = tuple(sorted(job.held_nodes))
    stop = StopRequested(job=job.id, generation=job.generation, nodes=nodes, after=AfterStop.CANCELLED, reason=reason)
    return Decision(events=tuple(stop_work(state, stop)))


def hold_job(state: ClusterState, command: HoldJob) -> Decision | Refusal:
    """Only what waits can be held."""
    job = _living(state, command.job)
    if isinstance(job, Refusal):
        return job
    if job.state in QUEUED:
        return Decision(events=(JobHeld(job=job.id, reason=command.reason or f"held by {command.by}"),))
    if job.state is JobState.HELD:
        return Refusal(code="state", message=f"job {job.id} is held already")
    return Refusal(code="state", message=f"job {job.id} is {job.state}; only a waiting job can be held, a placed one can be cancelled")


def release_job(state: ClusterState, command: ReleaseJob) -> Decision | Refusal:
    """Back into the queue, at the place its priority and age give it."""
    job = _living(state, command.job)
    if isinstance(job, Refusal):
        return job
    if job.state is JobState.HELD:
        return Decision(events=(JobReleased(job=job.id, reason=command.reason or f"released by {command.by}"),))
    return Refusal(code="state", message=f"job {job.id} is {job.state}, not held")


def change_priority(state: ClusterState, command: ChangePriority) -> Decision | Refusal:
    """The job's place in the queue follows; what it has, it keeps."""
    job = _living(state, command.job)
    if isinstance(job, Refusal):
        return job
    low, high = PRIORITY_RANGE
    if not low <= command.priority <= high:
        counts: dict[str, int | str] = {
            "field": "priority", "value": command.priority, "expected": f"give a whole number from {low} to {high}",
        }  # fmt: skip
        return Refusal(code="invalid", message=f"priority: {counts['expected']}", counts=counts)
    if job.after is AfterStop.CANCELLED:
        return Refusal(code="state", message=f"job {job.id} is being cancelled; its priority no longer matters")
    if job.priority == command.priority:
        return Refusal(code="state", message=f"job {job.id} has priority {job.priority} already")
    return Decision(events=(JobChanged(job=job.id, priority=command.priority),))


def _living(state: ClusterState, name: str) -> Job | Refusal:
    """The job, unless it has ended or was never there."""
    job = state.jobs.get(name)
    if job is not None and job.state not in TERMINAL:
        return job
    outcome = state.ended.get(name) if job is None else job.state
    if outcome is None:
        return Refusal(code="unknown", message=f"there is no job {name} in this cluster, or it ended long ago")
    return Refusal(code="state", message=f"job {name} has already {_PAST.get(outcome, 'been cancelled')}")


_PAST = {JobState.FINISHED: "finished", JobState.FAILED: "failed"}
