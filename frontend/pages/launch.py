"""The part of a job's page about its ranks: where they are, files for launchers, and what they cost there and elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from clusters.domain.decision import Refusal
from frontend.pages.base import page, part
from frontend.pages.rankgrid import RankGrid, span
from frontend.selectors.launch import launch_facts, launch_get
from frontend.selectors.parallel import ModelCost, PlacedCosts, PlacementCost
from scheduling.domain.parallelism.ranks import Rank
from scheduling.launch.assignment import Launch

#: Slices that are drawn; the file `ranks` has all.
MOST_DRAWN = 32
#: Nodes of a slice that are drawn.
MOST_NODES = 72
#: Width of the longest bar, in the units of its drawing.
BAR = 100.0


@require_safe
@page
def launch_part(request: HttpRequest, cluster: str, job: str) -> HttpResponse:
    """The part, fetched again when the job changes; nothing for a job without nodes."""
    launch = launch_get(cluster, job)
    context = {} if isinstance(launch, Refusal) else launch_context(launch)
    return render(request, "frontend/_job_launch.html", part(cluster) | context)


def launch_context(launch: Launch) -> dict[str, Any]:
    """What the part shows."""
    facts = launch_facts(launch)
    slices = [list(members) for _, members in groupby(launch.ranks.ranks, key=lambda rank: rank.slice)]
    return {
        "launch": facts,
        "plan": launch.ranks.plan,
        "drawn": [_slice(launch, ranks) for ranks in slices[:MOST_DRAWN]],
        "more_slices": max(0, len(slices) - MOST_DRAWN),
        "costs": list(_models(facts.costs)) if facts.costs else [],
    }


def _slice(launch: Launch, ranks: list[Rank]) -> dict[str, Any]:
    """One slice: its ranks in words, and the drawing."""
    plan = launch.ranks.plan
    held = [rank for rank in ranks if rank.slot < MOST_NODES]
    group = None if plan is None or ranks[0].at is None else plan.group
    places = [rank.at for rank in ranks if rank.at is not None]
    return {
        "number": ranks[0].slice,
        "domain": ranks[0].domain,
        "ranks": f"rank{span([rank.rank for rank in ranks], 's')}",
        "replicas": f"replica{span([at.dp for at in places], 's')}" if places else "",
        "stages": f"stage{span([at.pp for at in places], 's')}" if plan is not None and places and plan.pp > 1 else "",
        "svg": mark_safe(RankGrid(held, group).render()),
    }


def _models(costs: PlacedCosts) -> Iterator[dict[str, Any]]:
    for cost in costs.costs:
        most = max(placement.seconds for placement in cost.placements) or 1.0
        yield {"model": cost.model, "source": cost.source, "rows": [_row(cost, place, most) for place in cost.placements]}


def _row(cost: ModelCost, placement: PlacementCost, most: float) -> dict[str, Any]:
    """One bar: time on links inside domains, then on those between them."""
    terms = [getattr(placement.terms, name) for name in ("tp", "ep", "pp", "dp")]
    inside = sum(term.inside_s for term in terms)
    return {
        "label": placement.label,
        "own": placement is cost.placements[0],
        "torn": not placement.groups_whole,
        "seconds": _seconds(placement.seconds),
        "ratio": None if placement.ratio is None else f"{placement.ratio:.2g}×" if placement.ratio < 10 else f"{placement.ratio:.0f}×",
        "inside": f"{BAR * inside / most:.2f}",
        "outside": f"{BAR * (placement.seconds - inside) / most:.2f}",
        "terms": ", ".join(
            f"{name} {_seconds(term.inside_s + term.outside_s)}" for name, term in zip(("TP", "EP", "PP", "DP"), terms, strict=True)
        ),
    }


def _seconds(value: float) -> str:
    """Seconds with three digits that say something: `1.45 s`, `83 ms`."""
    return f"{value:.3g} s" if value >= 1 else f"{1000 * value:.3g} ms"
