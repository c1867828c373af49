"""Events as the list of them asks: backwards or forwards from a position, filtered, and never more of the log at once than is good."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from clusters.domain.events import PAYLOADS, Event
from clusters.eventlog.models import LogSource
from clusters.eventlog.store import default_log

#: Events looked at for one page: a filter that matches seldom goes on from there with the next.
MOST_READ = 20_000
_WINDOW = 2_000
#: Sources that are offered as filters.
MOST_SOURCES = 16


def _group(payload: type) -> str:
    """The catalogue's part that a kind of event stands in: inventory, health, job, ... or policy."""
    stem = payload.__module__.rpartition(".")[2]
    return stem.removesuffix("_events") if stem.endswith("_events") else "policy"


#: Kinds of events by group, in the order of the catalogue.
GROUPS: dict[str, frozenset[str]] = {
    group: frozenset(kind for kind, payload in PAYLOADS.items() if _group(payload) == group)
    for group in dict.fromkeys(map(_group, PAYLOADS.values()))
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events: of any of the groups, of any of the sources, about the subject; what is empty asks nothing."""

    groups: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    subject: str = ""

    def takes(self, event: Event) -> bool:
        """Whether the event passes, its subject apart."""
        grouped = not self.groups or any(event.kind in GROUPS[group] for group in self.groups)
        return grouped and (not self.sources or event.source in self.sources)


class Found(NamedTuple):
    """Events, newest first, and how far was looked."""

    events: list[Event]
    oldest: int  # every position from here to `newest` was looked at
    newest: int
    head: int


def events_before(cluster: str, wanted: EventFilter, before: int | None, count: int) -> Found:
    """The last events before a position, or before the end; raises UnknownCluster."""
    log = default_log()
    head = log.head(cluster)
    end = head if before is None else min(before - 1, head)
    if wanted.subject:
        about = [event for event in log.about(cluster, wanted.subject) if event.seq <= end and wanted.takes(event)]
        found = about[-count:][::-1]
        return Found(found, found[-1].seq if len(about) > count else 1, end, head)
    found = list(islice((event for event in _backwards(cluster, end) if wanted.takes(event)), count))
    oldest = found[-1].seq if len(found) == count else max(1, end - MOST_READ + 1)
    return Found(found, oldest, end, head)


def events_after(cluster: str, wanted: EventFilter, after: int, count: int) -> Found:
    """The first events after a position; raises UnknownCluster."""
    log = default_log()
    head = log.head(cluster)
    events: Iterable[Event] = log.about(cluster, wanted.subject, after) if wanted.subject else log.read(cluster, after, MOST_READ)
    found = list(islice((event for event in events if wanted.takes(event)), count))
    reached = head if wanted.subject else min(head, after + MOST_READ)
    return Found(found[::-1], after + 1, found[-1].seq if len(found) == count else reached, head)


def event_sources(cluster: str) -> list[str]:
    """Who has ever said something of the cluster."""
    named = LogSource.objects.filter(cluster__name=cluster).order_by("name").values_list("name", flat=True)
    return list(named[:MOST_SOURCES])


def _backwards(cluster: str, end: int) -> Iterator[Event]:
    """Events from a position down, at most MOST_READ of them."""
    last = max(0, end - MOST_READ)
    while end > last:
        first = max(last, end - _WINDOW)
        yield from reversed(list(default_log().read(cluster, first, end - first)))
        end = first
