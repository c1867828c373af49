"""The fold: `evolve(state, event)` for every kind of event.

It changes the state in place and returns it. Events come in order of seq; one that was folded before changes nothing, a gap is an error.
Facts about unknown jobs or nodes, and reports of old generations, change nothing: sources may be late. An event that the program itself
wrote and that contradicts the state raises BrokenInvariant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusters.domain import (
    evolve_defrag,
    evolve_health,
    evolve_incidents,
    evolve_inventory,
    evolve_jobs,
    evolve_losses,
    evolve_recovery,
    evolve_signals,
    evolve_space,
    evolve_switches,
)
from clusters.domain.errors import BrokenInvariant, UnknownEvent
from clusters.domain.events import PAYLOADS, Event
from clusters.domain.state import ClusterState

#: The source of all facts of the simulated fleet; its time is the frontier that decisions in lockstep are made at.
FLEET_SOURCE = "fleet"

Handler = Callable[[ClusterState, Event, Any], None]

_MODULES = (
    evolve_inventory,
    evolve_health,
    evolve_signals,
    evolve_switches,
    evolve_incidents,
    evolve_jobs,
    evolve_recovery,
    evolve_losses,
    evolve_space,
    evolve_defrag,
)

HANDLERS: dict[str, Handler] = {cls.__name__: handler for module in _MODULES for cls, handler in module.HANDLERS.items()}

if HANDLERS.keys() != PAYLOADS.keys():
    raise UnknownEvent(f"no fold for {sorted(HANDLERS.keys() ^ PAYLOADS.keys())}")


def evolve(state: ClusterState, event: Event) -> ClusterState:
    """Fold one event into the state."""
    seq = event.seq
    if seq != state.seq + 1:
        if seq <= state.seq:
            return state
        raise BrokenInvariant(f"event {seq} follows {state.seq}: the log has a gap")
    handler = HANDLERS.get(event.kind)
    if handler is None:
        raise UnknownEvent(f"event {seq} is of kind {event.kind!r}, which this version does not know")
    space = state.built_space
    if space is not None:
        space.at = seq
    state.moment = event.occurred_at
    handler(state, event, event.payload)
    state.seq = seq
    if event.source == FLEET_SOURCE and event.occurred_at > state.frontier:
        state.frontier = event.occurred_at
    return state
