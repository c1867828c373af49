"""The list of clusters, and the fleet of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from clusters.domain.jobs import JobState
from clusters.domain.state import ClusterState
from frontend.pages.base import frame, page, part, switcher
from frontend.pages.incidents import trouble_context
from frontend.pages.palette import CONDITIONS, RACK_STATES, USES
from frontend.pages.plannotes import fleet_notes
from frontend.pages.spares import spares_context
from frontend.selectors.clusters import ClusterSummary, cluster_names, now_of, readable_summaries, reading
from frontend.selectors.events import latest_events
from frontend.selectors.jobs import reason_of
from frontend.selectors.telling import QUIET, Told, tell
from scheduling.domain.trial import Trial
from scheduling.domain.turns import in_order

MOST_QUEUED = 5
MOST_EVENTS = 8
#: Events looked through for those worth telling.
MOST_READ = 300

LEGEND = (
    {"kind": "use", "title": "Use", "states": USES},
    {"kind": "condition", "title": "Condition", "states": CONDITIONS},
    {"kind": "rack", "title": "Rack state", "states": RACK_STATES},
)


@require_safe
@page
def clusters_page(request: HttpRequest) -> HttpResponse:
    """All clusters; with a single one there is nothing to choose."""
    names = cluster_names()
    if len(names) == 1:
        return redirect("frontend:fleet", names[0])
    return render(request, "frontend/clusters.html", {"overview": overview(names)})


@require_safe
@page
def fleet_page(request: HttpRequest, cluster: str) -> HttpResponse:
    """The map and what goes with it."""
    with reading(cluster) as state:
        context = {**frame(state, "fleet"), "legend": LEGEND, "queue": queue(state), **trouble_context(state), **fleet_notes(state)}
        seq = state.seq
    context |= switcher() | {"events": news(cluster, seq)} | spares_context(cluster)
    return render(request, "frontend/fleet.html", context)


@require_safe
@page
def queue_part(request: HttpRequest, cluster: str) -> HttpResponse:
    """The head of the queue."""
    with reading(cluster) as state:
        context = {**part(cluster), "queue": queue(state)}
    return render(request, "frontend/_queue.html", context)


@require_safe
@page
def events_part(request: HttpRequest, cluster: str) -> HttpResponse:
    """The latest events."""
    with reading(cluster) as state:
        seq = state.seq
    return render(request, "frontend/_events.html", {**part(cluster), "events": news(cluster, seq)})


def overview(clusters: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of the list of clusters. One whose log cannot be read says so."""
    summaries, unreadable = readable_summaries(clusters)
    rows = {name: {"name": name, "unreadable": True} for name in unreadable} | {summary.name: _row(summary) for summary in summaries}
    return [rows[name] for name in clusters]


def _row(summary: ClusterSummary) -> dict[str, Any]:
    return {
        "name": summary.name,
        "nodes": summary.nodes,
        "racks": summary.racks,
        "in_use": summary.in_use,
        "unhealthy": summary.unhealthy,
        "running": summary.jobs[JobState.RUNNING],
        "waiting": summary.jobs[JobState.WAITING] + summary.jobs[JobState.SUBMITTED],
    }


def queue(state: ClusterState) -> list[dict[str, Any]]:
    """The first waiting jobs, in the order in which they are tried."""
    now = now_of(state)
    trial = Trial(state, now)
    jobs = [state.jobs[name] for name in in_order(trial, MOST_QUEUED)]
    return [
        {
            "id": job.id,
            "name": job.request.name,
            "kind": job.request.kind.value,
            "nodes": job.request.nodes,
            "gpus": job.request.gpus,
            "waited_us": now - job.submitted_at,
            "reason": reason_of(trial, job),
        }
        for job in jobs
    ]


def news(cluster: str, seq: int) -> list[Told]:
    """The latest events worth telling, newest first."""
    events = latest_events(cluster, seq=seq, count=MOST_READ)
    return [tell(event) for event in events if event.kind not in QUIET][:MOST_EVENTS]
