"""Notes on other pages that plans wait or run: on the fleet's those that wait for a decision, on a job's those that concern it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from clusters.domain.defrag import PlanStatus
from clusters.domain.state import ClusterState
from frontend.pages.base import page, part
from frontend.selectors.clusters import reading
from frontend.selectors.plans import RoomPlan, open_plans
from scheduling.domain.wording import gpu_hours

#: Proposals that the fleet page names; the page of plans has all.
MOST_SHOWN = 3


@require_safe
@page
def fleet_part(request: HttpRequest, cluster: str) -> HttpResponse:
    """The notes of the fleet page."""
    with reading(cluster) as state:
        return render(request, "frontend/_plan_notes.html", {**part(cluster), **fleet_notes(state)})


@require_safe
@page
def job_part(request: HttpRequest, cluster: str, job: str) -> HttpResponse:
    """The notes of a job's page."""
    with reading(cluster) as state:
        return render(request, "frontend/_plan_notes.html", {**part(cluster), **job_notes(state, job)})


def fleet_notes(state: ClusterState) -> dict[str, Any]:
    """Plans that wait for a decision; the caller holds the state."""
    waiting = [plan for plan in open_plans(state) if plan.status == PlanStatus.PROPOSED]
    return {"plan_notes": [_note(plan, "") for plan in waiting[:MOST_SHOWN]], "more_notes": max(0, len(waiting) - MOST_SHOWN)}


def job_notes(state: ClusterState, job: str) -> dict[str, Any]:
    """Plans that make room for the job, or move it; the caller holds the state."""
    found = [plan for plan in open_plans(state) if plan.job == job or any(move.job == job for move in plan.moves)]
    return {"plan_notes": [_note(plan, job) for plan in found], "more_notes": 0}


def _note(plan: RoomPlan, job: str) -> dict[str, Any]:
    return {
        "id": plan.id,
        "runs": plan.status == PlanStatus.RUNNING,
        "job": plan.job,
        "is_for": plan.job == job or not job,
        "domains": len(plan.domains),
        "jobs": len({move.job for move in plan.moves}),
        "cost": gpu_hours(plan.cost_gpu_s),
    }
