"""What is wrong on the fleet page: the breaker where it has tripped, and the open incidents."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from clusters.domain.books import Condition
from clusters.domain.state import ClusterState
from frontend.pages.base import page, part
from frontend.selectors.clusters import reading
from frontend.selectors.incidents import Incident, IncidentFilter, breaker_get, incidents_from

#: Incidents in the panel, those of several nodes first; the API has all.
MOST_SHOWN = 6

#: Jobs that are named for each.
MOST_JOBS = 3


@require_safe
@page
def breaker_part(request: HttpRequest, cluster: str) -> HttpResponse:
    """The banner, empty while verdicts act."""
    with reading(cluster) as state:
        return render(request, "frontend/_breaker.html", {**part(cluster), "breaker": breaker_get(state)})


@require_safe
@page
def incidents_part(request: HttpRequest, cluster: str) -> HttpResponse:
    """The panel."""
    with reading(cluster) as state:
        context = {**part(cluster), **incidents_context(state)}
    return render(request, "frontend/_incidents.html", context)


def trouble_context(state: ClusterState) -> dict[str, Any]:
    """Banner and panel; the caller holds the state."""
    return {"breaker": breaker_get(state), **incidents_context(state)}


def incidents_context(state: ClusterState) -> dict[str, Any]:
    """What the panel shows; the caller holds the state."""
    found = list(incidents_from(state, IncidentFilter(), ""))
    shown = [_row(incident) for incident in found[:MOST_SHOWN]]
    return {"incidents": shown, "open": len(found), "more": max(0, len(found) - MOST_SHOWN)}


def _row(incident: Incident) -> dict[str, Any]:
    conditions = Counter(node.condition for node in incident.nodes)
    order = [condition.value for condition in Condition]
    jobs = {job.job: job.name for node in incident.nodes for job in node.jobs}
    return {
        "id": incident.id,
        "name": _name(incident),
        "rack": incident.nodes[0].rack,
        "condition": min(conditions, key=order.index),
        "cause": incident.cause,
        "since_us": incident.since_us,
        "source": ", ".join(dict.fromkeys(report.source for node in incident.nodes for report in node.reports)),
        "evidence": incident.evidence,
        "nodes": [node.node for node in incident.nodes],
        "jobs": [{"id": job, "name": name} for job, name in list(jobs.items())[:MOST_JOBS]],
        "more_jobs": max(0, len(jobs) - MOST_JOBS),
    }


def _name(incident: Incident) -> str:
    first = incident.nodes[0]
    return f"{len(incident.nodes)} nodes of {first.domain or first.rack}" if incident.id else first.node
