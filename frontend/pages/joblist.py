"""The list of jobs as its address says: filters, pages, rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.urls import reverse

from clusters.domain.constraints import MAX_NAME
from clusters.domain.ids import Instant
from clusters.domain.jobs import JobKind, JobState
from frontend.pages.palette import JOB_STATES
from frontend.selectors.jobs import JobFilter, JobItem, job_choices, list_items

PAGE_SIZE = 50
#: Teams offered as filters, those with most jobs first.
MOST_TEAMS = 12
#: Values of one filter that are looked at.
MOST_VALUES = 50
#: Pages reach so far; older jobs are found by filters.
MOST_PAGES = 10_000

#: Filters as the address names them, with their titles.
FIELDS = {"state": "State", "kind": "Kind", "team": "Team"}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuery:
    """What the address asks for; what makes no sense in it is as if it were not there."""

    chosen: Mapping[str, tuple[str, ...]]  # filter -> values
    page: int

    @property
    def filtered(self) -> bool:
        """Whether any filter is on."""
        return any(self.chosen.values())

    @property
    def filter(self) -> JobFilter:
        """The same for the projection."""
        return JobFilter(
            states=tuple(map(JobState, self.chosen["state"])),
            kinds=tuple(map(JobKind, self.chosen["kind"])),
            teams=self.chosen["team"],
        )

    def encoded(self, chosen: Mapping[str, tuple[str, ...]] | None = None, page: int = 1) -> str:
        """A query string of the same kind."""
        query = QueryDict(mutable=True)
        for field, values in (self.chosen if chosen is None else chosen).items():
            query.setlist(field, list(values))
        if page > 1:
            query["page"] = str(page)
        return query.urlencode()

    def switched(self, field: str, value: str) -> dict[str, tuple[str, ...]]:
        """The filters with one value taken in or out."""
        values = self.chosen[field]
        return {**self.chosen, field: tuple(v for v in values if v != value) if value in values else (*values, value)}


def read_query(query: QueryDict) -> JobQuery:
    """The query of an address."""
    known: dict[str, set[str]] = {"state": {state.value for state in JobState}, "kind": {kind.value for kind in JobKind}}
    chosen = {
        field: tuple(dict.fromkeys(value for value in query.getlist(field)[:MOST_VALUES] if _is_value(value, known.get(field))))
        for field in FIELDS
    }
    page = query.get("page", "")
    number = int(page) if page.isascii() and page.isdigit() and len(page) < 9 else 1
    return JobQuery(chosen=chosen, page=min(max(number, 1), MOST_PAGES))


def _is_value(value: str, known: set[str] | None) -> bool:
    """Whether a job could have this value."""
    return value in known if known is not None else 0 < len(value) <= MAX_NAME and value.isprintable()


def rows_context(cluster: str, query: JobQuery, now: Instant) -> dict[str, Any]:
    """One page of rows; raises UnknownCluster."""
    records = query.filter.records(cluster)
    total = records.count()
    first = (query.page - 1) * PAGE_SIZE
    rows = list(records[first : first + PAGE_SIZE])
    items = list_items(cluster, query.filter, rows, first=query.page == 1)
    return {
        "jobs": [row(item, now) for item in items],
        "filtered": query.filtered,
        "pages": _pages(cluster, query, first, len(items), max(total, len(items))),
    }


def filters_context(cluster: str, query: JobQuery) -> dict[str, Any]:
    """The filters with the number of jobs of each value, over all jobs."""
    filters = [{"label": title, "options": list(_options(cluster, query, field))} for field, title in FIELDS.items()]
    return {"filters": [offered for offered in filters if offered["options"]], "query": query.encoded(page=query.page)}


def _options(cluster: str, query: JobQuery, field: str) -> Iterator[dict[str, Any]]:
    counts = job_choices(cluster, field)
    for value, label in _values(field, counts, query.chosen[field]):
        if value in counts or value in query.chosen[field]:
            yield {
                "label": label,
                "count": counts.get(value, 0),
                "on": value in query.chosen[field],
                "url": f"?{query.encoded(query.switched(field, value))}",
                "state": value if field == "state" else "",
            }


def _values(field: str, counts: Mapping[str, int], chosen: tuple[str, ...]) -> list[tuple[str, str]]:
    """Values of a filter in the order in which they are offered, with their labels."""
    if field == "state":
        return [(state.value, state.label) for state in JOB_STATES]
    if field == "kind":
        return [(kind.value, kind.value.capitalize()) for kind in JobKind]
    most = sorted((team for team in counts if team), key=lambda team: (-counts[team], team))[:MOST_TEAMS]
    return [(team, team) for team in dict.fromkeys((*most, *chosen))]


def _pages(cluster: str, query: JobQuery, first: int, shown: int, total: int) -> dict[str, Any] | None:
    if total <= PAGE_SIZE and query.page == 1:
        return None
    base = reverse("frontend:jobs", args=(cluster,))
    return {
        "first": first + 1 if shown else 0,
        "last": first + shown,
        "total": total,
        "previous_url": f"{base}?{query.encoded(page=query.page - 1)}" if query.page > 1 else "",
        "next_url": f"{base}?{query.encoded(page=query.page + 1)}" if first + shown < total else "",
    }


def row(item: JobItem, now: Instant) -> dict[str, Any]:
    """One job as a row of the list."""
    until = item.placed_at_us or item.ended_at_us or now
    return {
        "id": item.id,
        "name": item.name,
        "state": item.state,
        "kind": item.kind,
        "team": item.team,
        "nodes": item.nodes,
        "gpus": item.gpus,
        "slices": item.slices,
        "priority": item.priority,
        "submitted_us": item.submitted_at_us,
        "waited_us": until - item.submitted_at_us,
        "ran_us": None if item.started_at_us is None else (item.ended_at_us or now) - item.started_at_us,
        "reason": item.reason,
    }
