"""Events of the log, as they are."""

from __future__ import annotations

from typing import Any

import msgspec

from clusters.domain.events import Event
from clusters.eventlog.store import default_log

#: Events looked at for one answer: a filter that matches seldom must not read the whole log at once.
MOST_READ = 5_000


class EventFacts(msgspec.Struct, frozen=True):
    """One event."""

    seq: int
    kind: str
    version: int
    occurred_at_us: int  # cluster time
    recorded_at_us: int  # wall time
    subject: str
    payload: dict[str, Any]
    source: str
    source_id: str
    source_seq: int | None
    causation: int | None
    correlation: str


class EventPage(msgspec.Struct, frozen=True):
    """Some events in order, and where to go on reading."""

    items: list[EventFacts]
    next: int  # give this as `after`
    head: int  # position of the last event there is


def events_page(cluster: str, *, after: int, limit: int, subject: str, kind: str) -> EventPage:
    """Events behind a position; raises UnknownCluster."""
    log = default_log()
    head = log.head(cluster)
    events = log.about(cluster, subject, after) if subject else log.read(cluster, after)
    items: list[EventFacts] = []
    reached = after
    for number, event in enumerate(events, 1):
        reached = event.seq
        if kind in ("", event.kind):
            items.append(event_facts(event))
        if len(items) == limit or number == MOST_READ:
            return EventPage(items, reached, head)
    return EventPage(items, max(reached, head), head)


def event_facts(event: Event) -> EventFacts:
    """The event with plain values."""
    return EventFacts(
        seq=event.seq,
        kind=event.kind,
        version=event.version,
        occurred_at_us=event.occurred_at,
        recorded_at_us=event.recorded_at,
        subject=event.subject,
        payload=msgspec.to_builtins(event.payload),
        source=event.source,
        source_id=event.source_id,
        source_seq=event.source_seq,
        causation=event.causation,
        correlation=event.correlation,
    )


def latest_events(cluster: str, *, seq: int, count: int) -> list[Event]:
    """The last events up to a position, newest first."""
    first = max(0, seq - count)
    return list(default_log().read(cluster, first, seq - first))[::-1]
