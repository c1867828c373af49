"""Plans that make room: the list, one plan, and what it would take to free whole domains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from clusters.domain.decision import Refusal
from clusters.domain.defrag import PlanStatus
from clusters.domain.events import Event
from clusters.domain.ids import MINUTE
from clusters.domain.job_events import JobPlaced, JobPreempted, JobRequeued, SliceMoved, WorkLost, WorkStarted
from clusters.domain.state import ClusterState
from clusters.eventlog.live import live
from clusters.eventlog.store import default_log
from frontend.accounts.access import caller_of
from frontend.accounts.roles import Permission
from frontend.pages.base import frame, page, part, switcher
from frontend.pages.palette import JOB_HUES
from frontend.pages.planmap import maps_of, past_maps
from frontend.selectors.clusters import layout_of, reading
from frontend.selectors.plancalls import plan_calls
from frontend.selectors.plans import (
    MoveFacts,
    RivalFacts,
    RoomPlan,
    open_plans,
    past_plans,
    plan_events,
    plan_facts,
    plan_get,
    room_wanted,
)
from frontend.selectors.telling import Told, tell
from scheduling.domain.wording import gpu_hours
from scheduling.whatif import room_what_if

MOST_PAST = 20
MOST_CALLS = 10
MOST_RIVALS = 8
MOST_EVENTS = 60
MOST_DIGITS = 5

#: What is told of the jobs that a plan concerns.
TOLD = (JobPlaced, JobPreempted, JobRequeued, SliceMoved, WorkLost, WorkStarted)

#: So long after its end what becomes of the jobs still belongs to a plan: work starts again a little later.
AFTERMATH = 10 * MINUTE

STATUS_WORDS = {
    PlanStatus.PROPOSED: ("waits for a decision", "warn"),
    PlanStatus.RUNNING: ("running", "busy"),
    PlanStatus.FINISHED: ("finished", "good"),
    PlanStatus.REJECTED: ("rejected", ""),
    PlanStatus.ABORTED: ("aborted", "bad"),
    PlanStatus.EXPIRED: ("expired", ""),
}


@require_safe
@page
def plans_page(request: HttpRequest, cluster: str) -> HttpResponse:
    """The list."""
    with reading(cluster) as state:
        context = frame(state, "plans") | {"most_domains": sum(state.topology.known)}
    return render(request, "frontend/plans.html", context | switcher() | rows_context(request, cluster))


@require_safe
@page
def rows_part(request: HttpRequest, cluster: str) -> HttpResponse:
    """What changes on it."""
    return render(request, "frontend/_plans.html", part(cluster) | rows_context(request, cluster))


@require_safe
@page
def plan_page(request: HttpRequest, cluster: str, plan: str) -> HttpResponse:
    """One plan."""
    events = plan_events(cluster, plan)
    with reading(cluster) as state:
        context = frame(state, "plans") | plan_context(state, plan_get(state, events), may_decide=may_decide(request))
    return render(request, "frontend/plan.html", context | switcher() | past_context(cluster, events, context))


@require_safe
@page
def plan_part(request: HttpRequest, cluster: str, plan: str) -> HttpResponse:
    """What changes on it."""
    events = plan_events(cluster, plan)
    with reading(cluster) as state:
        context = part(cluster) | plan_context(state, plan_get(state, events), may_decide=may_decide(request))
    return render(request, "frontend/_plan_detail.html", context | past_context(cluster, events, context))


@require_safe
@page
def what_if_page(request: HttpRequest, cluster: str) -> HttpResponse:
    """The plan that would free so many domains; nothing is asked for."""
    wanted = request.GET.get("domains", "")
    domains = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) <= MOST_DIGITS else 0
    found = room_what_if(cluster, domains)
    with reading(cluster) as state:
        context = frame(state, "plans") | {"domains": domains, "most_domains": sum(state.topology.known)}
        if isinstance(found, Refusal):
            context |= {"refused": found.message, "may_decide": may_decide(request)}
        else:
            context |= plan_context(state, plan_facts(found, ""), may_decide=False)
    return render(request, "frontend/plan_what_if.html", context | switcher())


def may_decide(request: HttpRequest) -> bool:
    """Whether the caller decides about plans."""
    return caller_of(request).may(Permission.NODES)


def rows_context(request: HttpRequest, cluster: str) -> dict[str, Any]:
    """All rows of the list."""
    with reading(cluster) as state:
        live, room, seq, mode = open_plans(state), room_wanted(state), state.seq, state.policy.defrag_mode.value
        names = {plan.job: state.jobs[plan.job].request.name for plan in live if plan.job in state.jobs}
    past = list(islice(past_plans(cluster, seq + 1, {plan.id for plan in live}), MOST_PAST))
    calls = plan_calls(cluster)
    told = [call for call in calls if call.message]
    return {
        "calls": told[:MOST_CALLS],
        "more_calls": max(0, len(told) - MOST_CALLS),
        "unsearched": len(calls) - len(told),
        "open": [_row(plan, names.get(plan.job, "")) for plan in live],
        "past": [_row(plan, "") for plan in past],
        "room": room,
        "mode": mode,
        "may_decide": may_decide(request),
    }


def plan_context(state: ClusterState, plan: RoomPlan, *, may_decide: bool) -> dict[str, Any]:
    """Everything about a plan but what happened since; the caller holds the state."""
    job = state.jobs.get(plan.job)
    return {
        "facts": plan,
        "plan": _row(plan, job.request.name if job else ""),
        "maps": maps_of(state, layout_of(state), plan, known=plan.status == PlanStatus.PROPOSED),
        "moves": [_move(state, step, move) for step, move in enumerate(plan.moves)],
        "rivals": [_rival(rival) for rival in plan.rivals],
        "can_decide": may_decide and plan.status == PlanStatus.PROPOSED and bool(plan.id),
    }


def past_context(cluster: str, events: Sequence[Event], context: dict[str, Any]) -> dict[str, Any]:
    """What the log has of a plan: what happened since, and what else was there where it has been decided. No state is held meanwhile."""
    plan: RoomPlan = context["facts"]
    maps = context["maps"]
    if not maps["known"]:
        maps = past_maps(cluster, live(cluster).position.epoch, plan) or maps
    return {"events": history(cluster, events, plan), "maps": maps}


def history(cluster: str, events: Sequence[Event], plan: RoomPlan) -> list[Told]:
    """What happened since, the newest first: to the plan, and to the jobs that it concerns."""
    first = events[0].seq
    until = plan.ended_at_us + AFTERMATH if plan.ended_at_us is not None else None
    found = list(events)
    if plan.approved_at_us is not None:
        for job in dict.fromkeys((*(move.job for move in plan.moves), *([plan.job] if plan.job else []))):
            found += _of_job(cluster, job, first, until)
    newest = sorted(found, key=lambda event: event.seq, reverse=True)
    return [tell(event) for event in newest[:MOST_EVENTS]]


def _of_job(cluster: str, job: str, after: int, until: int | None) -> Iterator[Event]:
    for event in islice(default_log().about(cluster, job, after), MOST_EVENTS):
        if isinstance(event.payload, TOLD) and (until is None or event.occurred_at <= until):
            yield event


def _row(plan: RoomPlan, name: str) -> dict[str, Any]:
    words, tone = STATUS_WORDS[PlanStatus(plan.status)]
    leaving = {move.job for move in plan.moves}
    gap = 0 if plan.optimal or not plan.cost_gpu_s else max(1, round(100 * (plan.cost_gpu_s - plan.bound_gpu_s) / plan.cost_gpu_s))
    return {
        "id": plan.id,
        "status": plan.status,
        "status_words": words,
        "tone": tone,
        "aim": plan.aim,
        "job": plan.job,
        "job_name": name,
        "domains": plan.domains,
        "jobs": len(leaving),
        "nodes": sum(len(move.nodes) for move in plan.moves),
        "waits": len({move.job for move in plan.moves if move.to_domain is None}),
        "done": sum(move.done for move in plan.moves),
        "steps": len(plan.moves),
        "cost": _cost(plan.cost_gpu_s),
        "slice_only": _cost(plan.slice_only_gpu_s),
        "proof": "proven cheapest" if plan.optimal else f"at most {gap} % above the least possible",
        "at_us": plan.proposed_at_us,
        "reason": plan.reason,
        "outcome": plan.outcome,
        "by": plan.by,
    }


def _rival(rival: RivalFacts) -> dict[str, Any]:
    more = max(0, len(rival.domains) - MOST_RIVALS)
    return {"domains": ", ".join(rival.domains[:MOST_RIVALS]), "more": more, "cost": _cost(rival.cost_gpu_s), "reason": rival.reason}


def _cost(gpu_s: int | None) -> str:
    return "" if gpu_s is None else gpu_hours(gpu_s)


def _move(state: ClusterState, step: int, move: MoveFacts) -> dict[str, Any]:
    job = state.jobs.get(move.job)
    return {
        "number": step + 1,
        "hue": step % len(JOB_HUES),
        "job": move.job,
        "name": job.request.name if job else "",
        "team": job.request.team if job else "",
        "slice": move.slice,
        "domain": move.domain,
        "nodes": move.nodes,
        "to_domain": move.to_domain,
        "to_nodes": move.to_nodes,
        "lost": _cost(move.lost_gpu_s),
        "cost": _cost(move.cost_gpu_s),
        "phase": "done" if move.done else "under way" if move.begun else "",
    }
