"""What is wrong: the breaker where it has tripped, the panel of the fleet page, and the page of incidents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from clusters.domain.health_events import NodeRecovered, NodeReleased, RepairFinished
from clusters.domain.ids import DAY, Instant
from clusters.domain.incident_events import IncidentClosed
from clusters.domain.state import ClusterState
from clusters.inventory.names import MAX_NAME
from frontend.pages.base import frame, page, part, switcher
from frontend.pages.incidentrows import rows_of
from frontend.selectors.clusters import now_of, reading
from frontend.selectors.eventlist import EventFilter, events_before
from frontend.selectors.incidents import FLAGS, Incident, IncidentFilter, breaker_get, incidents_from
from frontend.selectors.telling import Told, tell

#: Rows in the panel; the page has all.
MOST_SHOWN = 4

#: What ended is told for so long, and so much of it.
RECENT = DAY
MOST_ENDED = 30
MOST_READ = 400
ENDED = (IncidentClosed, NodeRecovered, NodeReleased, RepairFinished)

#: Ages as the address names them, and as the filter does.
AGES = {"day": "Last 24 h", "older": "Older"}


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentQuery:
    """What the address asks for; what makes no sense in it is as if it were not there."""

    age: str = ""
    flag: str = ""
    rack: str = ""

    @classmethod
    def of(cls, query: QueryDict) -> IncidentQuery:
        """The query of an address."""
        age, flag, rack = (query.get(name, "").strip() for name in ("age", "flag", "rack"))
        return cls(
            age=age if age in AGES else "",
            flag=flag if flag in FLAGS else "",
            rack=rack if len(rack) <= MAX_NAME and "\0" not in rack else "",
        )

    def encoded(self, **changed: str) -> str:
        """The query string with some of it changed."""
        query = QueryDict(mutable=True)
        for name in ("age", "flag", "rack"):
            if value := changed.get(name, getattr(self, name)):
                query[name] = value
        return query.urlencode()

    def takes(self, incident: Incident, now: Instant) -> bool:
        """Whether the incident is of the age that is asked for."""
        recent = incident.since_us is not None and now - incident.since_us <= RECENT
        return not self.age or recent is (self.age == "day")


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


@require_safe
@page
def incidents_page(request: HttpRequest, cluster: str) -> HttpResponse:
    """All that is wrong now, and what was until lately."""
    query = IncidentQuery.of(request.GET)
    with reading(cluster) as state:
        context = {**frame(state, "incidents"), "breaker": breaker_get(state)}
    context |= switcher() | filters_context(query) | rows_context(cluster, query)
    return render(request, "frontend/incidents.html", context)


@require_safe
@page
def rows_part(request: HttpRequest, cluster: str) -> HttpResponse:
    """What changes on it."""
    context = part(cluster) | rows_context(cluster, IncidentQuery.of(request.GET))
    return render(request, "frontend/_incident_rows.html", context)


def trouble_context(state: ClusterState) -> dict[str, Any]:
    """Banner and panel; the caller holds the state."""
    return {"breaker": breaker_get(state), **incidents_context(state)}


def incidents_context(state: ClusterState) -> dict[str, Any]:
    """What the panel shows; the caller holds the state."""
    rows = rows_of(state, incidents_from(state, IncidentFilter(), ""))
    return {
        "incidents": rows[:MOST_SHOWN],
        "trouble": sum(row["count"] for row in rows),
        "more": sum(row["count"] for row in rows[MOST_SHOWN:]),
        "homeless": _homeless(state),
    }


def rows_context(cluster: str, query: IncidentQuery) -> dict[str, Any]:
    """The rows of the page, and what has ended; raises UnknownCluster."""
    chosen = IncidentFilter(flag=query.flag, rack=query.rack)
    with reading(cluster) as state:
        now = now_of(state)
        rows = rows_of(state, (one for one in incidents_from(state, chosen, "") if query.takes(one, now)))
        homeless = _homeless(state)
    return {
        "rows": rows,
        "trouble": sum(row["count"] for row in rows),
        "filtered": bool(query.encoded()),
        "homeless": homeless,
        "ended": [] if query.flag or query.rack or query.age == "older" else _ended(cluster, now),
    }


def filters_context(query: IncidentQuery) -> dict[str, Any]:
    """The filters, and the query that they make."""
    offered = {"age": ("Since", AGES), "flag": ("Nodes", {flag.value: flag.value.capitalize() for flag in FLAGS})}
    filters = [
        {
            "label": title,
            "options": [
                {"label": label, "on": getattr(query, name) == value, "url": f"?{query.encoded(**{name: _other(query, name, value)})}"}
                for value, label in values.items()
            ],
        }
        for name, (title, values) in offered.items()
    ]
    return {
        "filters": filters,
        "rack": query.rack,
        "without_rack_url": f"?{query.encoded(rack='')}",
        "hidden": [(name, getattr(query, name)) for name in offered if getattr(query, name)],
        "query": query.encoded(),
    }


def _homeless(state: ClusterState) -> int:
    """Nodes without a domain: each is a range by itself, in which nothing may be placed."""
    return state.topology.known.count(False)


def _other(query: IncidentQuery, name: str, value: str) -> str:
    """The value, or none where it is chosen already."""
    return "" if getattr(query, name) == value else value


def _ended(cluster: str, now: Instant) -> list[Told]:
    """What was wrong until lately, the last first."""
    found = events_before(cluster, EventFilter(groups=("health", "incident")), None, MOST_READ).events
    ended = [tell(event) for event in found if isinstance(event.payload, ENDED) and now - event.occurred_at <= RECENT]
    return ended[:MOST_ENDED]
