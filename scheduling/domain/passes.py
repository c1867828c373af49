"""The pass: judge what signals say, book what was lost, settle what has stopped, recover what was lost, place what waits.

One decision stays small, so that its transaction does not keep writers waiting: it stops once it has written or placed enough and says that
there is more. The next pass decides on the state as it then is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from clusters.domain.decision import Decision
from clusters.domain.events import Payload
from clusters.domain.ids import Instant
from clusters.domain.job_events import AfterStop, JobCancelled, JobFailed, JobPlaced, JobRequeued
from clusters.domain.space_events import SpaceFreed, SpaceReserved
from clusters.domain.state import ClusterState
from scheduling.domain.defrag_run import leaves_more, run_plans
from scheduling.domain.limits import enforce_limits
from scheduling.domain.lost_work import book_losses
from scheduling.domain.queue import place_steps
from scheduling.domain.recovery import recover
from scheduling.domain.reservations import expire, free_unreached, make_way
from scheduling.domain.trial import Trial
from scheduling.domain.verdicts.judge import judge

#: A transaction of so many events, or nodes claimed, takes some 20 ms.
EVENTS_PER_PASS = 128
NODES_PER_PASS = 512


def run_pass(state: ClusterState, now: Instant) -> Decision:
    """Everything that can be done now, or the first part of it."""
    verdicts = judge(state, now)
    if verdicts:  # recovery and placement look at what becomes of the nodes, in the next pass
        return Decision(events=tuple(verdicts[:EVENTS_PER_PASS]), more=True)
    trial = Trial(state, now)
    events: list[Payload] = []
    nodes = 0
    for step in _steps(trial):
        events += step
        nodes += sum(map(_claimed, step))
        if len(events) >= EVENTS_PER_PASS or nodes >= NODES_PER_PASS:
            return Decision(events=tuple(events), more=True)
    placed = {event.job for event in events if isinstance(event, JobPlaced)}
    events += free_unreached(trial, placed)
    return Decision(events=tuple(events), more=any(_leaves_more(state, event) for event in events))


def _steps(trial: Trial) -> Iterator[list[Payload]]:
    """What is done, in this order; each step is one whole."""
    state = trial.state
    return chain(
        book_losses(state),
        settle(state),
        stop_overdue(trial),
        recover(trial),
        expire(trial),
        make_way(trial),
        run_plans(trial),
        place_steps(trial),
    )


def _leaves_more(state: ClusterState, event: Payload) -> bool:
    """Whether the event gives somebody a chance who has had his turn in this pass, or was not in the queue yet."""
    if isinstance(event, JobRequeued | SpaceFreed) or leaves_more(state, event):
        return True
    return isinstance(event, SpaceReserved) and event.job in state.reservations


def settle(state: ClusterState) -> Iterator[list[Payload]]:
    """Jobs whose work has stopped everywhere end, or wait again, as was asked."""
    for name in sorted(state.stopped):
        job = state.jobs[name]
        if job.after is AfterStop.WAITING:
            yield [JobRequeued(job=name, reason=job.reason)]
        elif job.after is AfterStop.FAILED:
            yield [JobFailed(job=name, generation=job.generation, reason=job.reason)]
        else:
            yield [JobCancelled(job=name, reason=job.reason)]


def stop_overdue(trial: Trial) -> Iterator[list[Payload]]:
    """Work that has run to its time limit is asked to stop, and gets no new nodes meanwhile."""
    for name, events in enforce_limits(trial.state, trial.now):
        trial.stopping.add(name)
        yield events


def _claimed(event: Payload) -> int:
    return sum(len(part.nodes) for part in event.slices) if isinstance(event, JobPlaced) else 0
