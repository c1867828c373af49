"""Where signals are fetched from, how that goes, and which codes nobody knows."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend.pages.base import frame, page, switcher
from frontend.selectors.clusters import reading
from frontend.selectors.signals import signal_sources, unknown_codes


@require_safe
@page
def signals_page(request: HttpRequest, cluster: str) -> HttpResponse:
    """The page of sources."""
    with reading(cluster) as state:
        context = frame(state, "events") | {"unknown_codes": unknown_codes(state)}
    return render(request, "frontend/signals.html", context | switcher() | {"sources": signal_sources(cluster)})
