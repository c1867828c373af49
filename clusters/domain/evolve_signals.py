"""How signals change the state: the node remembers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusters.domain import signal_events as ev
from clusters.domain.events import Event
from clusters.domain.evolve_health import rank_of, watch
from clusters.domain.signals import Heard, remember
from clusters.domain.state import ClusterState


def heard_of(payload: ev.SignalReceived, seq: int, rank: int, at: int, source: str) -> Heard:
    """The signal as the node remembers it."""
    return Heard(
        seq=seq,
        rank=rank,
        at=at,
        source=source,
        code=payload.code,
        kind=payload.kind,
        scope=payload.scope,
        check=payload.check,
        component=payload.component,
        text=payload.text,
        action=payload.action,
        lasting=payload.lasting,
    )


def _received(state: ClusterState, event: Event, payload: ev.SignalReceived) -> None:
    node = state.nodes.get(payload.node)
    if node is not None:
        remember(node.signals, heard_of(payload, event.seq, rank_of(event), event.occurred_at, event.source))
        watch(state, node)


HANDLERS: dict[type, Callable[[ClusterState, Event, Any], None]] = {ev.SignalReceived: _received}
