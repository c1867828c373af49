"""The list of events as its address says: filters, a position in the log, and whether it follows what happens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.urls import reverse

from clusters.domain.events import Event
from clusters.inventory.names import MAX_NAME
from frontend.selectors.eventlist import GROUPS, EventFilter, Found, events_after, events_before
from frontend.selectors.payloads import payload_lines
from frontend.selectors.telling import tell

PAGE_SIZE = 50
MOST_DIGITS = 18
#: Filters of several values as the address names them, with their titles.
FIELDS = {"group": "About", "source": "Said by"}
OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventQuery:
    """What the address asks for; what makes no sense in it is as if it were not there."""

    chosen: Mapping[str, tuple[str, ...]]  # filter -> values
    subject: str
    before: int | None  # one of the three at most: older than a position, newer than one, or around one
    after: int | None
    at: int | None
    follow: bool

    @property
    def filtered(self) -> bool:
        """Whether any filter is on."""
        return bool(self.subject) or any(self.chosen.values())

    @property
    def newest(self) -> bool:
        """Whether it is the end of the log that is asked for."""
        return (self.before, self.after, self.at) == (None, None, None)

    @property
    def filter(self) -> EventFilter:
        """The same for the log."""
        return EventFilter(groups=self.chosen["group"], sources=self.chosen["source"], subject=self.subject)

    def encoded(self, *, chosen: Mapping[str, tuple[str, ...]] | None = None, subject: str | None = None, **more: int | str) -> str:
        """A query string with the same filters, or others; at the end of the log unless a position is given."""
        query = QueryDict(mutable=True)
        for field, values in (self.chosen if chosen is None else chosen).items():
            query.setlist(field, list(values))
        about = self.subject if subject is None else subject
        if about:
            query["subject"] = about
        for key, value in more.items():
            query[key] = str(value)
        return query.urlencode()

    def switched(self, field: str, value: str) -> dict[str, tuple[str, ...]]:
        """The filters with one value taken in or out."""
        values = self.chosen[field]
        return {**self.chosen, field: tuple(v for v in values if v != value) if value in values else (*values, value)}


def read_query(query: QueryDict) -> EventQuery:
    """The query of an address."""
    groups = tuple(dict.fromkeys(value for value in query.getlist("group") if value in GROUPS))
    sources = tuple(dict.fromkeys(value for value in query.getlist("source") if value and "\0" not in value))
    subject = query.get("subject", "").strip()
    before, after, at = (_position(query.get(key, "")) for key in ("before", "after", "at"))
    return EventQuery(
        chosen={"group": groups, "source": sources},
        subject=subject if len(subject) <= MAX_NAME and "\0" not in subject else "",
        at=at,
        before=before if at is None else None,
        after=after if at is None and before is None else None,
        follow=query.get("follow") != OFF,
    )


def rows_context(cluster: str, query: EventQuery) -> dict[str, Any]:
    """One page of events; raises UnknownCluster."""
    found = _found(cluster, query)
    base = reverse("frontend:events", args=(cluster,))
    return {
        "events": [row(event, query) for event in found.events],
        "filtered": query.filtered,
        "looked": {"oldest": found.oldest, "newest": found.newest, "head": found.head},
        "older_url": f"{base}?{query.encoded(before=found.oldest)}" if found.oldest > 1 else "",
        "newer_url": f"{base}?{query.encoded(after=found.newest)}" if found.newest < found.head and not query.newest else "",
    }


def _found(cluster: str, query: EventQuery) -> Found:
    if query.after is not None:
        return events_after(cluster, query.filter, query.after, PAGE_SIZE)
    if query.at is not None:
        return events_before(cluster, query.filter, query.at + PAGE_SIZE // 2, PAGE_SIZE)
    return events_before(cluster, query.filter, query.before, PAGE_SIZE)


def filters_context(query: EventQuery, sources: list[str]) -> dict[str, Any]:
    """The filters, and where following is switched."""
    offered = {"group": [(group, label_of(group)) for group in GROUPS], "source": [(name, name) for name in sources]}
    follow = query.newest and query.follow
    return {
        "filters": [{"label": title, "options": list(_options(query, field, offered[field]))} for field, title in FIELDS.items()],
        "subject": query.subject,
        "hidden": [(field, value) for field, values in query.chosen.items() for value in values],
        "without_subject_url": f"?{query.encoded(subject='')}",
        "follow": follow,
        "follow_url": f"?{query.encoded(follow=OFF) if follow else query.encoded()}",
        "query": query.encoded(),
    }


def _options(query: EventQuery, field: str, values: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    chosen = query.chosen[field]
    for value, label in dict.fromkeys((*values, *((value, value) for value in chosen if value not in dict(values)))):
        yield {"label": label, "on": value in chosen, "url": f"?{query.encoded(chosen=query.switched(field, value))}"}


def label_of(group: str) -> str:
    """The group as a filter names it."""
    return {"job": "Jobs"}.get(group, group.capitalize())


def row(event: Event, query: EventQuery) -> dict[str, Any]:
    """One event: in words, where it came from, and all that it says."""
    told = tell(event)
    return {
        "seq": event.seq,
        "kind": event.kind,
        "version": event.version,
        "at_us": event.occurred_at,
        "recorded_us": event.recorded_at,
        "title": told.title,
        "detail": told.detail,
        "tone": told.tone,
        "job": told.job,
        "subject": event.subject,
        "subject_url": f"?{query.encoded(subject=event.subject)}",
        "source": event.source,
        "source_id": event.source_id,
        "source_seq": event.source_seq,
        "causation": event.causation,
        "correlation": event.correlation,
        "payload": payload_lines(event.payload),
    }


def _position(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None
