"""How the queue follows from events: who waits, since when, and for whom.

A job ages while it waits. Its clock stands while it runs, is held, or waits for others: `aged_from` is moved on by as much. One that is not
to start before some instant ages from then on.
"""

from __future__ import annotations

from clusters.domain.jobs import QUEUED, TERMINAL, JobState
from clusters.domain.state import ClusterState, Job


def enqueue(state: ClusterState, job: Job) -> None:
    """The job waits from now on."""
    if job.paused_at is not None:
        job.aged_from += max(0, state.moment - job.paused_at)
        job.paused_at = None
    aside = bool(job.awaits) or job.id in state.orphaned
    if aside:
        job.paused_at = state.moment
    state.queue.add(job, aside=aside)


def dequeue(state: ClusterState, job: Job) -> None:
    """The job waits no longer, if it did."""
    if state.queue.drop(job) and job.paused_at is None:
        job.paused_at = state.moment


def await_others(state: ClusterState, job: Job) -> None:
    """A submitted job waits for those it names that have not ended. Of a job that nobody knows there is nothing to wait for."""
    for name in job.request.after:
        other = state.jobs.get(name)
        outcome = state.ended.get(name) if other is None else other.state
        if other is not None and other.state not in TERMINAL:
            job.awaits.add(name)
            state.dependents.setdefault(name, []).append(job.id)
        elif outcome is not None and outcome is not JobState.FINISHED:
            state.orphaned[job.id] = _why(name, outcome)


def tell_dependents(state: ClusterState, job: Job) -> None:
    """The job has ended. Those that waited for nothing else have their turn now; where it did not finish, they are to be held."""
    for name in state.dependents.pop(job.id, ()):
        other = state.jobs.get(name)
        if other is None or job.id not in other.awaits:
            continue
        other.awaits.discard(job.id)
        if job.state is not JobState.FINISHED:
            state.orphaned[name] = _why(job.id, job.state)
        elif not other.awaits and other.state in QUEUED:
            dequeue(state, other)
            enqueue(state, other)


def forget_dependent(state: ClusterState, job: Job) -> None:
    """The job has ended: nothing of it waits for others any more."""
    state.orphaned.pop(job.id, None)
    for name in job.awaits:
        waiting = state.dependents.get(name, [])
        if job.id in waiting:
            waiting.remove(job.id)
        if not waiting:
            state.dependents.pop(name, None)
    job.awaits.clear()


def _why(name: str, outcome: JobState) -> str:
    return f"it was to start after job {name}, which {'failed' if outcome is JobState.FAILED else 'was cancelled'}"
