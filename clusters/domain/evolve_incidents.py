"""How events of incidents and of the breaker change the state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from clusters.domain import incident_events as ev
from clusters.domain.events import Event
from clusters.domain.ids import incident_id
from clusters.domain.incidents import Breaker, Incident
from clusters.domain.state import ClusterState


def _opened(state: ClusterState, event: Event, payload: ev.IncidentOpened) -> None:
    name = incident_id(event.seq)
    state.incidents[name] = Incident(
        id=name,
        domain=payload.domain,
        nodes=payload.nodes,
        cause=payload.cause,
        since=payload.since,
        opened_at=event.occurred_at,
        evidence=payload.evidence,
    )
    state.tally["incidents"] = state.tally.get("incidents", 0) + 1


def _extended(state: ClusterState, _: Event, payload: ev.IncidentExtended) -> None:
    known = state.incidents[payload.incident]
    nodes = tuple(dict.fromkeys((*known.nodes, *payload.nodes)))
    state.incidents[payload.incident] = replace(known, nodes=nodes, evidence=known.evidence + payload.evidence)


def _closed(state: ClusterState, _: Event, payload: ev.IncidentClosed) -> None:
    state.incidents.pop(payload.incident, None)


def _tripped(state: ClusterState, event: Event, payload: ev.BreakerTripped) -> None:
    state.breaker = Breaker(since=event.occurred_at, out=payload.out, wanted=payload.wanted, limit=payload.limit, reason=payload.reason)


def _reset(state: ClusterState, event: Event, _: ev.BreakerReset) -> None:
    state.breaker = None
    state.breaker_reset_at = event.occurred_at


HANDLERS: dict[type, Callable[[ClusterState, Event, Any], None]] = {
    ev.IncidentOpened: _opened,
    ev.IncidentExtended: _extended,
    ev.IncidentClosed: _closed,
    ev.BreakerTripped: _tripped,
    ev.BreakerReset: _reset,
}
