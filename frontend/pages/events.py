"""The log for people: what happened, to what, who says so."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend.pages.base import frame, page, part, switcher
from frontend.pages.eventlist import filters_context, read_query, rows_context
from frontend.selectors.clusters import reading
from frontend.selectors.eventlist import event_sources


@require_safe
@page
def events_page(request: HttpRequest, cluster: str) -> HttpResponse:
    """The list with its filters."""
    query = read_query(request.GET)
    with reading(cluster) as state:
        context = frame(state, "events")
    context |= switcher() | rows_context(cluster, query) | filters_context(query, event_sources(cluster))
    return render(request, "frontend/events.html", context)


@require_safe
@page
def rows_part(request: HttpRequest, cluster: str) -> HttpResponse:
    """The rows alone, as they are followed."""
    return render(request, "frontend/_event_rows.html", part(cluster) | rows_context(cluster, read_query(request.GET)))
