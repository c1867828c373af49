"""What may go into a log, and how it is numbered. Every error names the field, the value, and what would be right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from clusters.domain.defrag_events import DefragPlanned
from clusters.domain.errors import InvalidRequest, SourceSequence
from clusters.domain.events import (
    MAX_SOURCE,
    MAX_SOURCE_ID,
    PAYLOADS,
    Event,
    NewEvent,
    Payload,
    PolicyActivated,
    subject_of,
)
from clusters.domain.ids import Instant, incident_id, job_id, plan_id
from clusters.domain.incident_events import IncidentOpened
from clusters.domain.inventory_events import ClusterCreated
from clusters.domain.job_events import JobPlaced, JobSubmitted, NodeSwapped, SliceMoved
from clusters.eventlog.request import Request

MAX_CLUSTER = 63  # characters of a cluster's name: also a host name's label
MAX_REQUEST_ID = 120  # characters: leaves room for the numbers of a decision's events
BY_POSITION = "@"  # begins the ids of decisions that nobody gave one; what others give must not be taken for them
MAX_SUBJECT = 512  # characters: the longest name that Kubernetes gives a node has 253
MAX_INTEGER = 2**63 - 1  # what the stores hold

#: Only decisions place work.
PLACEMENTS = (JobPlaced, NodeSwapped, SliceMoved)

#: Only the control plane itself sets policies and opens logs.
_NO_FACTS = frozenset({*PLACEMENTS, PolicyActivated, ClusterCreated})

_NAMED_BY_POSITION: dict[type, Callable[[int], str]] = {JobSubmitted: job_id, IncidentOpened: incident_id, DefragPlanned: plan_id}

_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_CLUSTER - 1}}}")


def is_cluster_name(text: str) -> bool:
    """Whether a cluster may be called so."""
    return _NAME.fullmatch(text) is not None


def check_new_log(cluster: str, facts: Sequence[NewEvent]) -> None:
    """Refuse a name that no URL could hold, and a log that does not begin with its creation."""
    if not is_cluster_name(cluster):
        raise InvalidRequest("cluster", cluster, f"give 1 to {MAX_CLUSTER} letters, digits, dots, dashes or underscores")
    first = facts[0].payload if facts else None
    if not isinstance(first, ClusterCreated) or first.name != cluster:
        raise InvalidRequest("facts", type(first).__name__, f"let the first be ClusterCreated with the name {cluster!r}")
    for fact in facts:
        if isinstance(fact.payload, PLACEMENTS):
            raise InvalidRequest("payload", type(fact.payload).__name__, "only a decision makes this event")
        _check_envelope(fact)


def check_facts(facts: Iterable[NewEvent]) -> None:
    """Refuse facts that nobody but the control plane can state, and envelopes that no store could hold."""
    for fact in facts:
        if type(fact.payload) in _NO_FACTS:
            raise InvalidRequest("payload", type(fact.payload).__name__, "only a decision of the control plane makes this event")
        _check_envelope(fact)


def check_request(request: Request) -> None:
    """Refuse names that the events of the decision could not carry."""
    _check_text("source", request.source, MAX_SOURCE)
    if request.request_id is not None:
        _check_text("request_id", request.request_id, MAX_REQUEST_ID)
        if request.request_id.startswith(BY_POSITION):
            raise InvalidRequest("request_id", request.request_id, f"let it begin with anything but {BY_POSITION}")
    _check_text("correlation", request.correlation, MAX_SOURCE_ID, least=0)


def _check_envelope(fact: NewEvent) -> None:
    payload, occurred_at, source, source_id, source_seq, causation, correlation = fact
    if type(payload).__name__ not in PAYLOADS:
        raise InvalidRequest("payload", type(payload).__name__, "give one of the events of clusters.domain.events")
    _check_text("source", source, MAX_SOURCE)
    _check_text("source_id", source_id, MAX_SOURCE_ID)
    _check_text("subject", subject_of(payload), MAX_SUBJECT, least=0)
    if correlation:
        _check_text("correlation", correlation, MAX_SOURCE_ID)
    _check_number("occurred_at", occurred_at)
    if source_seq is not None:
        _check_number("source_seq", source_seq)
    if causation is not None:
        _check_number("causation", causation)


def _check_number(field: str, value: int) -> None:
    if not 0 <= value <= MAX_INTEGER:
        raise InvalidRequest(field, value, f"give a whole number from 0 to {MAX_INTEGER}")


def _check_text(field: str, value: str, most: int, *, least: int = 1) -> None:
    if not (least <= len(value) <= most and value.isprintable()):
        raise InvalidRequest(field, value[:most], f"give {least} to {most} printable characters")


def sequenced_sources(facts: Iterable[NewEvent]) -> dict[str, bool]:
    """Whether each source numbers its facts; raises SourceSequence where it does so for some of them only."""
    sources: dict[str, bool] = {}
    for fact in facts:
        numbers = fact.source_seq is not None
        if sources.setdefault(fact.source, numbers) != numbers:
            raise SourceSequence(f"source {fact.source!r} gives source_seq for some of its facts only; give it always or never")
    return sources


def number_facts(facts: Iterable[NewEvent], first: int, wall: Instant) -> list[Event]:
    """The facts as events from position `first` on."""
    events = []
    for seq, (payload, occurred_at, source, source_id, source_seq, causation, correlation) in enumerate(facts, first):
        kind, version, subject = type(payload).__name__, payload.VERSION, subject_at(payload, seq)
        events.append(Event(seq, kind, version, occurred_at, wall, subject, payload, source, source_id, source_seq, causation, correlation))
    return events


def number_decision(request: Request, payloads: Iterable[Payload], first: int, now: Instant) -> list[NewEvent]:
    """The events of a decision: the first has the request's own id, the others follow from it."""
    name = request.request_id or f"{BY_POSITION}{first}"
    return [
        NewEvent(payload, now, request.source, f"{name}/{number}" if number else name, None, request.causation, request.correlation)
        for number, payload in enumerate(payloads)
    ]


def subject_at(payload: Payload, seq: int) -> str:
    """What the event at a position is about: a submission is about the job that gets its id from there, and so on."""
    named = _NAMED_BY_POSITION.get(type(payload))
    return named(seq) if named is not None else subject_of(payload)


def same_fact(event: Event | NewEvent, fact: NewEvent) -> bool:
    """Whether an event of this source and id says what the fact says. A retry may carry another correlation."""
    return (
        event.payload == fact.payload
        and event.occurred_at == fact.occurred_at
        and event.source_seq == fact.source_seq
        and event.causation == fact.causation
    )
