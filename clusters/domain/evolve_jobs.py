"""How events of jobs change the state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from clusters.domain import job_events as ev
from clusters.domain.allocation import hold_slice, release_nodes, settle, want_spares
from clusters.domain.disruption import end_disruption, give_up_work
from clusters.domain.errors import BrokenInvariant
from clusters.domain.events import Event
from clusters.domain.evolve_defrag import begin_step, is_sent_away
from clusters.domain.evolve_queue import await_others, dequeue, enqueue, forget_dependent, tell_dependents
from clusters.domain.evolve_space import free_reservation
from clusters.domain.exclusive import refresh_closed
from clusters.domain.ids import Instant, job_id
from clusters.domain.jobs import ACTIVE, TERMINAL, JobKind, JobState
from clusters.domain.lost_work import LossCause
from clusters.domain.state import ClusterState, Job


def _submitted(state: ClusterState, event: Event, payload: ev.JobSubmitted) -> None:
    name = job_id(event.seq)
    job = Job(
        id=name,
        seq=event.seq,
        request=payload.request,
        submitted_by=payload.submitted_by,
        submitted_at=event.occurred_at,
    )
    job.arrival = payload.arrival
    state.jobs[name] = job
    if payload.request.exclusive:
        state.exclusive.add(name)
    if payload.arrival:
        plan, _, row = payload.arrival.rpartition(":")
        state.arrived[plan] = max(state.arrived.get(plan, 0), int(row) + 1)
    await_others(state, job)
    if payload.request.held:
        job.state = JobState.HELD
        job.paused_at = event.occurred_at
    else:
        enqueue(state, job)
    count(state, "submitted")


def count(state: ClusterState, what: str) -> None:
    """One more of what the cluster has ever had so many of."""
    state.tally[what] = state.tally.get(what, 0) + 1


def _held(state: ClusterState, _: Event, payload: ev.JobHeld) -> None:
    job = state.jobs[payload.job]
    dequeue(state, job)
    free_reservation(state, job.id)
    state.orphaned.pop(job.id, None)
    job.state = JobState.HELD
    job.reason = payload.reason
    job.blocked = ""
    job.counts = {}


def _released(state: ClusterState, _: Event, payload: ev.JobReleased) -> None:
    job = state.jobs[payload.job]
    job.state = JobState.WAITING
    job.reason = payload.reason
    enqueue(state, job)


def _blocked(state: ClusterState, event: Event, payload: ev.JobBlocked) -> None:
    job = state.jobs[payload.job]
    job.state = JobState.WAITING
    job.counts = dict(payload.counts)
    if job.blocked == payload.code:
        return
    if job.line is not None:
        job.line.forget(job)
    job.blocked = payload.code
    job.blocked_since = event.occurred_at
    if job.line is not None:
        job.line.note(job)


def _placed(state: ClusterState, event: Event, payload: ev.JobPlaced) -> None:
    job = state.jobs[payload.job]
    if payload.generation != job.generation + 1:
        raise BrokenInvariant(f"job {job.id} was placed as generation {payload.generation} after {job.generation}")
    dequeue(state, job)
    free_reservation(state, job.id)
    job.generation = payload.generation
    job.state = JobState.PLACED
    job.blocked = ""
    job.counts = {}
    job.reason = ""
    job.placed_at = event.occurred_at
    job.placed_seq = event.seq
    job.started_at = job.resumed_at = None
    job.slices = [hold_slice(state, job, part) for part in payload.slices]
    refresh_closed(state, job)
    want_spares(state, job, wanted=True)


def _work_started(state: ClusterState, event: Event, payload: ev.WorkStarted) -> None:
    job = state.jobs.get(payload.job)
    if job is None or job.state not in ACTIVE:
        return
    for name in payload.nodes:
        since = job.held_nodes.get(name)
        if since is not None and since <= payload.generation <= job.generation:
            job.unstarted.discard(name)
    if job.state is JobState.STALLED:
        return
    job.state = JobState.STARTING if job.unstarted else JobState.RUNNING
    if not job.unstarted and job.id not in state.lost:
        _runs(state, job, event.occurred_at)


def _runs(state: ClusterState, job: Job, at: Instant) -> None:
    """Work runs on all the job's nodes, for the first time or again."""
    if job.started_at is None:
        job.started_at = at
        if job.request.time_limit_s is not None:
            state.limited.add(job.id)
    if job.disruption is not None:
        end_disruption(state, job, at)
        job.resumed_at = at


def _work_stopped(state: ClusterState, event: Event, payload: ev.WorkStopped) -> None:
    job = state.jobs.get(payload.job)
    if job is None:
        return
    never = payload.generation + 1
    stopped = [name for name in payload.nodes if job.held_nodes.get(name, never) < never]
    release_nodes(state, job, dict.fromkeys(stopped), event.occurred_at)  # a report may name a node twice


def _stop_requested(state: ClusterState, event: Event, payload: ev.StopRequested) -> None:
    job = state.jobs[payload.job]
    if payload.after is ev.AfterStop.CONTINUES:
        job.leaving.update(name for name in payload.nodes if name in job.held_nodes)
        return
    if payload.after is ev.AfterStop.WAITING and job.state in ACTIVE:
        cause = LossCause.DEFRAG if is_sent_away(state, job) else LossCause.PREEMPTED
        give_up_work(state, job, cause, event.occurred_at)
    else:
        end_disruption(state, job, event.occurred_at)
    _leave_active(state, job)
    job.state = JobState.STOPPING
    job.after = payload.after
    job.reason = payload.reason
    settle(state, job)


def _leave_active(state: ClusterState, job: Job) -> None:
    """The job no longer wants its nodes: nothing of it is lost any more, and its domains owe no spares for it."""
    if job.state in ACTIVE:
        want_spares(state, job, wanted=False)
    state.lost.discard(job.id)
    state.limited.discard(job.id)
    dequeue(state, job)
    free_reservation(state, job.id)
    touch(state, job)


def touch(state: ClusterState, job: Job) -> None:
    """The use of the job's nodes reads otherwise from here on, though none changed hands."""
    space = state.built_space
    if space is not None:
        for name in job.held_nodes:
            space.stamp[space.topology.domain_of[space.topology.index[name]]] = space.at


def _preempted(state: ClusterState, event: Event, payload: ev.JobPreempted) -> None:
    """Told beside the StopRequested that takes its nodes back."""
    job = state.jobs[payload.job]
    begin_step(state, job, 0, None)
    if job.request.kind is JobKind.PROBE:
        return
    job.disturbed_at = event.occurred_at
    job.preemptions += 1
    count(state, "preemptions")


def _resized(state: ClusterState, _: Event, payload: ev.JobResized) -> None:
    """Told beside the StopRequested after which it starts anew; a plan for another number of GPUs no longer holds."""
    job = state.jobs[payload.job]
    job.request = replace(job.request, nodes=payload.nodes, plan=None)


def _requeued(state: ClusterState, _: Event, payload: ev.JobRequeued) -> None:
    job = state.jobs[payload.job]
    state.stopped.discard(job.id)
    job.state = JobState.WAITING
    job.after = None
    job.reason = payload.reason
    job.blocked = ""
    job.counts = {}
    job.slices = []
    job.placed_at = None
    job.started_at = None
    enqueue(state, job)


def _ended(outcome: JobState) -> Callable[[ClusterState, Event, Any], None]:
    def handle(state: ClusterState, event: Event, payload: ev.JobFinished | ev.JobFailed | ev.JobCancelled) -> None:
        job = state.jobs.get(payload.job)
        if job is None or job.state in TERMINAL:
            return
        if not isinstance(payload, ev.JobCancelled) and payload.generation != job.generation:
            return
        end_disruption(state, job, event.occurred_at)
        _leave_active(state, job)
        state.stopped.discard(job.id)
        job.state = outcome
        job.reason = "" if isinstance(payload, ev.JobFinished) else payload.reason
        count(state, outcome.value)
        tell_dependents(state, job)
        forget_dependent(state, job)
        settle(state, job)

    return handle


def _changed(state: ClusterState, _: Event, payload: ev.JobChanged) -> None:
    job = state.jobs[payload.job]
    queued = job.state in (JobState.SUBMITTED, JobState.WAITING)
    dequeue(state, job)
    job.priority = payload.priority
    if queued:
        enqueue(state, job)


HANDLERS: dict[type, Callable[[ClusterState, Event, Any], None]] = {
    ev.JobSubmitted: _submitted,
    ev.JobHeld: _held,
    ev.JobReleased: _released,
    ev.JobBlocked: _blocked,
    ev.JobPlaced: _placed,
    ev.WorkStarted: _work_started,
    ev.WorkStopped: _work_stopped,
    ev.StopRequested: _stop_requested,
    ev.JobPreempted: _preempted,
    ev.JobResized: _resized,
    ev.JobRequeued: _requeued,
    ev.JobFinished: _ended(JobState.FINISHED),
    ev.JobFailed: _ended(JobState.FAILED),
    ev.JobCancelled: _ended(JobState.CANCELLED),
    ev.JobChanged: _changed,
}
