"""Capacity: how many nodes slices of each size can use, at what the cluster's own log says and at what it has this moment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from clusters.domain.errors import InvalidRequest
from clusters.domain.ids import DAY, HOUR, MINUTE, Duration
from clusters.domain.lost_work import LossCause
from clusters.domain.slices import cluster_slice
from clusters.domain.state import ClusterState
from clusters.eventlog.capacity_records import books_samples
from frontend.live.view import capacity_of
from frontend.pages.base import frame, page, switcher
from frontend.pages.palette import USES
from frontend.selectors.capacity import DEFAULT_SIZES, CapacityReport, capacity_get, curves, read_sizes, tables
from frontend.selectors.clusters import reading
from frontend.selectors.telling import LOSS_CAUSES
from scheduling.domain.capacity.failures import PUBLISHED_NODE_DAYS, interruptions
from scheduling.domain.capacity.model import Sizes
from scheduling.domain.capacity.money import MEASURED_GAIN, gain_worth, time_saved
from scheduling.domain.capacity.report import Given, label
from scheduling.domain.wording import gpu_hours

#: What Plotly needs beyond our own files: the empty style element that it makes (the hash is that of nothing), and pictures to download.
PLOTLY = {"style-src": ["'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"], "img-src": ["blob:"]}

#: Name -> (label, width of samples, how far back).
SPANS: Mapping[str, tuple[str, Duration, Duration]] = {
    "day": ("Day", 10 * MINUTE, DAY),
    "week": ("Week", 10 * MINUTE, 7 * DAY),
    "year": ("Year", 6 * HOUR, 365 * DAY),
}

#: Rows of the table beside the chart of the books.
MOST_ROWS = 24
#: Points of the table beside the curves.
TABLE_STEP = 5

USUAL_PRICE = 3.0
MOST_PRICE = 10_000.0


@require_safe
@csp_update(PLOTLY)
@page
def capacity_page(request: HttpRequest, cluster: str) -> HttpResponse:
    """The page."""
    with reading(cluster) as state:
        context: dict[str, Any] = frame(state, "capacity")
        usual, gpus = cluster_slice(state.topology, state.policy), sum(node.gpus for node in state.nodes.values())
        has_nodes = capacity_of(state).nodes > 0
        lost = list(_lost_work(state))
    context |= switcher()
    if has_nodes:
        asked = _asked(request, usual)
        report = capacity_get(cluster, asked["slices"], Given())
        context |= asked | _shown(cluster, report, asked, usual) | {"money": _money(request, gpus)}
    return render(request, "frontend/capacity.html", context | {"has_nodes": has_nodes, "lost_work": lost})


def _asked(request: HttpRequest, usual: int) -> dict[str, Any]:
    """Sizes and span of the address; what makes no sense is said, and the default shown."""
    text = request.GET.get("sizes", "") or DEFAULT_SIZES
    span = request.GET.get("span", "day")
    try:
        slices, error = read_sizes(text), ""
    except InvalidRequest as refusal:
        slices, error = read_sizes(DEFAULT_SIZES), f"{text[:80]} is not valid: {refusal.expected}"
    return {
        "slices": slices,
        "sizes_text": text[:80],
        "sizes_error": error,
        "span": span if span in SPANS else "day",
        "usual": label((usual,)),
    }


def _shown(cluster: str, report: CapacityReport, asked: Mapping[str, Any], usual: int) -> dict[str, Any]:
    measured = report.measured
    seen = measured.unavailability if measured else None
    published = interruptions(node_days=PUBLISHED_NODE_DAYS, nodes_per_rack=report.fleet.usual_size, nodes=report.nodes)
    drawn = curves(report.fleet, asked["slices"], report.outages, max(report.unavailability, (seen.high if seen else None) or 0.0))
    history = _history(cluster, asked["span"])
    return {
        "report": report,
        "break_evens": [point for point in report.break_evens if point.of_use],
        "measured": measured,
        "published": published,
        "spans": [{"name": name, "label": words, "on": name == asked["span"]} for name, (words, _, _) in SPANS.items()],
        "rows": [_row(report, label(sizes)) for sizes in asked["slices"]],
        "points": _points(drawn),
        "strip": _strip(report, asked["slices"]),
        "history_rows": list(_history_rows(history)),
        "uses": USES,
        "data": {
            "sizes": [label(sizes) for sizes in asked["slices"]],
            "curves": drawn,
            "tables": tables(report.domains, asked["slices"]),
            "now": report.now,
            "seq": report.seq,
            "nodes": report.nodes,
            "seen": seen,
            "history": history,
        },
    }


def _lost_work(state: ClusterState) -> Iterator[dict[str, str]]:
    """What failures have cost, by team and cause, the most expensive first."""
    for (team, cause), (rollback, stall) in sorted(state.lost_work.items(), key=lambda item: (-sum(item[1]), item[0])):
        yield {"team": team or "none", "cause": LOSS_CAUSES[LossCause(cause)], "rollback": gpu_hours(rollback), "stall": gpu_hours(stall)}


def _row(report: CapacityReport, key: str) -> dict[str, Any]:
    measured = report.measured
    return {
        "label": key,
        "slice": report.slices[key],
        "sure": report.slices[key].promised_slices["0.99"],
        "mean": measured.usable[key] if measured else None,
        "now": measured.usable_now[key] if measured else None,
    }


def _points(drawn: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Some points of the curves, as text."""
    steps = drawn["unavailability"]
    return [
        {"unavailability": steps[at], "usable": [curve[at] for curve in drawn["correlated"].values()]}
        for at in range(0, len(steps), TABLE_STEP)
    ]


def _strip(report: CapacityReport, slices: Sequence[Sizes]) -> dict[str, Any]:
    """What each failure in one usual domain costs each size."""
    size = report.fleet.usual_size
    rows = []
    for sizes in slices:
        usable = report.slices[label(sizes)].after_failures
        steps = [{"usable": nodes, "lost": before - nodes} for before, nodes in zip([usable[0], *usable], usable, strict=False)]
        rows.append({"label": label(sizes), "steps": steps})
    return {"nodes": range(1, size + 1), "failures": range(size + 1), "size": size, "rows": rows}


def _history(cluster: str, span: str) -> dict[str, Any]:
    """The books over the span, as far as they were sampled, oldest first."""
    _, width, back = SPANS[span]
    samples = list(books_samples(cluster, width).values_list("at", "books"))
    since = samples[-1][0] - back if samples else 0
    return {"width_us": width, "samples": [{"at_us": at, **json.loads(books)} for at, books in samples if at >= since]}


def _history_rows(history: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    samples = history["samples"]
    for sample in samples[:: -max(1, -(-len(samples) // MOST_ROWS))]:
        counts = [sample["use"].get(use.value, 0) for use in USES]
        yield {"at_us": sample["at_us"], "counts": counts, "nodes": sum(counts)}


def _money(request: HttpRequest, gpus: int) -> dict[str, Any]:
    """What whole slices are worth at a price that the reader gives."""
    price = _number(request.GET.get("price", ""), USUAL_PRICE, MOST_PRICE)
    gain = _number(request.GET.get("gain", ""), 100 * MEASURED_GAIN, 1_000.0) / 100
    worth = gain_worth(gpus=gpus, gpu_hour_price=price, gain=gain)
    return {"price": price, "gain": round(100 * gain, 2), "gpus": gpus, "saved": 100 * time_saved(gain), "worth": worth}


def _number(text: str, usual: float, most: float) -> float:
    """A number above 0, or the usual one."""
    try:
        number = float(text)
    except ValueError:
        return usual
    return number if 0 < number <= most else usual
