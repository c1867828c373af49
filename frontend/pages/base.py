"""What all pages share: the frame's context, and what becomes of a page about something that is not there."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from clusters.domain.errors import BrokenInvariant, UnknownCluster, UnknownEvent, UnknownSubject
from clusters.domain.state import NO_ENGINE, ClusterState
from frontend.live.view import clock_of
from frontend.selectors.clusters import cluster_names, place_of

View = Callable[..., HttpResponse]


def page(view: View) -> View:
    """A page or a part of one. It shows the present, so no cache may keep it."""

    @never_cache
    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except (UnknownCluster, UnknownSubject) as error:
            raise Http404(str(error)) from error
        except (UnknownEvent, BrokenInvariant) as error:
            return render(request, "503.html", {"newer": isinstance(error, UnknownEvent)}, status=503)

    return answer


def frame(state: ClusterState, section: str) -> dict[str, Any]:
    """The frame of a page about a cluster; the caller holds the state."""
    return {
        **part(state.name),
        "section": section,
        "position": place_of(state.name, state),
        "clock": clock_of(state),
        "engine": state.connector != NO_ENGINE,
    }


def part(cluster: str) -> dict[str, Any]:
    """What a part of a page needs to name its cluster."""
    return {"cluster": {"name": cluster, "api": f"/api/v1/clusters/{cluster}/"}}


def switcher() -> dict[str, Any]:
    """The clusters that the bar offers; reads the database, so no state is held meanwhile."""
    return {"clusters": cluster_names()}
