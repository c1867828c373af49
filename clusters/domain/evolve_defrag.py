"""How events of plans that make room change the state. Plans that have ended are in the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from clusters.domain import defrag_events as ev
from clusters.domain.defrag import ActivePlan, Disturbed, PlanAim, PlanStatus, RoomRequest
from clusters.domain.events import Event
from clusters.domain.ids import HOUR, plan_id
from clusters.domain.job_events import SliceAssignment
from clusters.domain.state import ClusterState, Job

#: Budgets count what was disturbed in so long.
BUDGET_WINDOW = HOUR


def _planned(state: ClusterState, event: Event, payload: ev.DefragPlanned) -> None:
    name = plan_id(event.seq)
    state.defrag[name] = ActivePlan(
        id=name,
        plan=payload.proposal,
        status=PlanStatus.PROPOSED,
        proposed_at=event.occurred_at,
        reason=payload.reason,
    )
    state.tally["plans"] = state.tally.get("plans", 0) + 1
    if payload.proposal.aim is PlanAim.DOMAINS:
        state.room = None


def _approved(state: ClusterState, event: Event, payload: ev.DefragApproved) -> None:
    at = event.occurred_at
    known = replace(state.defrag[payload.plan], status=PlanStatus.RUNNING, by=payload.by, approved_at=at)
    state.defrag[payload.plan] = known
    state.disturbed = [past for past in state.disturbed if at - past.at < BUDGET_WINDOW]
    for name in dict.fromkeys(move.job for move in known.plan.moves):
        job = state.jobs.get(name)
        state.disturbed.append(Disturbed(at=at, job=name, team=job.request.team if job is not None else ""))


def _rejected(state: ClusterState, event: Event, payload: ev.DefragRejected) -> None:
    known = state.defrag.pop(payload.plan)
    job = state.jobs.get(known.plan.job)
    if job is not None:
        job.unwanted_at = event.occurred_at


def _ended(state: ClusterState, _: Event, payload: ev.DefragFinished | ev.DefragAborted) -> None:
    state.defrag.pop(payload.plan)


def _checkpoint_requested(state: ClusterState, event: Event, payload: ev.CheckpointRequested) -> None:
    known = state.defrag[payload.plan]
    if known.asked_at is None:
        state.defrag[payload.plan] = replace(known, asked_at=event.occurred_at)


def _step_done(state: ClusterState, _: Event, payload: ev.DefragStepDone) -> None:
    known = state.defrag[payload.plan]
    state.defrag[payload.plan] = replace(known, ended=(*known.ended, payload.step))


def _room_requested(state: ClusterState, event: Event, payload: ev.RoomRequested) -> None:
    state.room = RoomRequest(
        domains=payload.domains,
        by=payload.by,
        reason=payload.reason,
        at=payload.at,
        asked_at=event.occurred_at,
    )


def _room_dropped(state: ClusterState, _: Event, __: ev.RoomDropped) -> None:
    state.room = None


def begin_step(state: ClusterState, job: Job, number: int, to: SliceAssignment | None) -> bool:
    """The slice goes to that place, or all of the job stops and waits (None): whether a plan that runs has wanted it so."""
    for name, known in state.defrag.items():
        if known.status is not PlanStatus.RUNNING:
            continue
        for step, move in enumerate(known.plan.moves):
            if move.job == job.id and move.to == to and (to is None or move.slice == number) and step not in known.begun:
                state.defrag[name] = replace(known, begun=(*known.begun, step))
                return True
    return False


def is_sent_away(state: ClusterState, job: Job) -> bool:
    """Whether a plan that runs has all of the job stop and wait."""
    running = (known for known in state.defrag.values() if known.status is PlanStatus.RUNNING)
    return any(known.plan.moves[step].job == job.id and known.plan.moves[step].to is None for known in running for step in known.begun)


HANDLERS: dict[type, Callable[[ClusterState, Event, Any], None]] = {
    ev.DefragPlanned: _planned,
    ev.DefragApproved: _approved,
    ev.DefragRejected: _rejected,
    ev.CheckpointRequested: _checkpoint_requested,
    ev.DefragStepDone: _step_done,
    ev.DefragFinished: _ended,
    ev.DefragAborted: _ended,
    ev.RoomRequested: _room_requested,
    ev.RoomDropped: _room_dropped,
}
