"""How events of space change the state. A reservation also ends, without an event of its own, when its job is placed, held or over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from clusters.domain import space_events as ev
from clusters.domain.events import Event
from clusters.domain.reservations import Reservation
from clusters.domain.state import ClusterState


def reservation_of(payload: ev.SpaceReserved, seq: int, before: Reservation | None) -> Reservation:
    """The reservation that the event makes at that position, in place of one that the job may have had before."""
    return Reservation(
        job=payload.job,
        nodes=payload.nodes,
        starts_at=payload.starts_at,
        expires_at=payload.expires_at,
        reason=payload.reason,
        since=seq if before is None else before.since,
    )


def _reserved(state: ClusterState, event: Event, payload: ev.SpaceReserved) -> None:
    before = state.reservations.get(payload.job)
    free_reservation(state, payload.job)
    state.reservations[payload.job] = reservation_of(payload, event.seq, before)
    _mark(state, payload.nodes, on=True)


def _freed(state: ClusterState, _: Event, payload: ev.SpaceFreed | ev.ReservationExpired) -> None:
    free_reservation(state, payload.job)


def free_reservation(state: ClusterState, job: str) -> None:
    """Nothing is kept for the job any more."""
    reservation = state.reservations.pop(job, None)
    if reservation is None:
        return
    freed = set(reservation.nodes)
    for other in state.reservations.values():  # a node may be kept for two jobs, one after the other
        freed.difference_update(other.nodes)
    _mark(state, freed, on=False)


def _lent(state: ClusterState, _: Event, payload: ev.SpareLent) -> None:
    """The nodes are lent until the job leaves them."""
    held = state.jobs[payload.job].held_nodes
    state.lent.update((name, payload.job) for name in payload.nodes if name in held)
    _count(state, "lent")


def _reclaimed(state: ClusterState, _: Event, __: ev.SpareReclaimed) -> None:
    """Told beside the StopRequested that takes them back."""
    _count(state, "reclaimed")


def _count(state: ClusterState, what: str) -> None:
    state.tally[what] = state.tally.get(what, 0) + 1


def _mark(state: ClusterState, nodes: Iterable[str], *, on: bool) -> None:
    space = state.built_space
    if space is not None:
        for name in nodes:
            if name in space.topology.index:
                space.reserve(space.topology.index[name], on=on)


HANDLERS: dict[type, Callable[[ClusterState, Event, Any], None]] = {
    ev.SpaceReserved: _reserved,
    ev.SpaceFreed: _freed,
    ev.ReservationExpired: _freed,
    ev.SpareLent: _lent,
    ev.SpareReclaimed: _reclaimed,
}
