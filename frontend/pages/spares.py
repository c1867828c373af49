"""The panel of the fleet page that shows spares against target."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend.pages.base import page, part
from frontend.selectors.spares import cluster_spares

#: Domains in the panel, those that something can be done about first; the API has all.
MOST_SHOWN = 3


@require_safe
@page
def spares_part(request: HttpRequest, cluster: str) -> HttpResponse:
    """The panel, fetched again when something has changed."""
    return render(request, "frontend/_spares.html", {**part(cluster), **spares_context(cluster)})


def spares_context(cluster: str) -> dict[str, Any]:
    """What the panel shows; reads state and database, so no state is held meanwhile."""
    spares = cluster_spares(cluster)
    advice = {one.domain: one for one in spares.advice}
    can_move = {one.domain for one in spares.advice if one.moves}
    first = sorted(spares.below, key=lambda one: one.domain not in can_move)
    below = [{"domain": one, "advice": advice.get(one.domain)} for one in first]
    return {"spares": spares, "below": below[:MOST_SHOWN], "more_below": max(0, len(below) - MOST_SHOWN)}
