"""How events of health change the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusters.domain import health_events as ev
from clusters.domain.allocation import fence_node
from clusters.domain.books import Condition
from clusters.domain.events import Event
from clusters.domain.health import Flag, Mark, clear_flag, condition_of, is_never_late, set_mark
from clusters.domain.state import ClusterState, Node

_Marking = ev.NodeFailed | ev.NodeSuspected | ev.NodeUnreachable | ev.NodeDegraded | ev.NodeQuarantined | ev.NodeDraining | ev.RepairStarted

_FLAG_OF: dict[type[_Marking], Flag] = {
    ev.NodeFailed: Flag.FAILED,
    ev.NodeSuspected: Flag.SUSPECT,
    ev.NodeUnreachable: Flag.UNREACHABLE,
    ev.NodeDegraded: Flag.DEGRADED,
    ev.NodeQuarantined: Flag.QUARANTINED,
    ev.NodeDraining: Flag.DRAINING,
    ev.RepairStarted: Flag.IN_REPAIR,
}

#: What a source takes back when it says that the node has recovered.
_RECOVERS = (Flag.FAILED, Flag.UNREACHABLE, Flag.SUSPECT, Flag.DEGRADED)


def refresh_condition(state: ClusterState, node: Node) -> None:
    """Derive the node's condition anew and tell the dense state."""
    node.condition = condition_of(node.marks)
    space = state.built_space
    if space is not None:
        space.set_placeable(space.topology.index[node.name], node.placeable, degraded=node.condition is Condition.DEGRADED)


def _mark(state: ClusterState, event: Event, payload: _Marking) -> None:
    node = state.nodes.get(payload.node)
    if node is None:
        return
    flag = _FLAG_OF[type(payload)]
    new = not any(mark.on for (marked, _), mark in node.marks.items() if marked is flag)
    mark = Mark(
        on=True,
        rank=rank_of(event),
        since=event.occurred_at,
        reason=payload.reason,
        owner=getattr(payload, "owner", ""),
        exit_rule=getattr(payload, "exit_rule", ""),
        evidence=getattr(payload, "evidence", ()),
    )
    if not set_mark(node.marks, flag, event.source, mark):
        return
    if isinstance(payload, ev.NodeFailed):
        _failed(state, node, payload, new=new)
    refresh_condition(state, node)


def _failed(state: ClusterState, node: Node, payload: ev.NodeFailed, *, new: bool) -> None:
    node.failures += new
    space = state.built_space
    if node.failures >= state.policy.offender_failures and space is not None:
        space.set_offender(space.topology.index[node.name])
    if payload.fencing:  # its work is known to be dead, so it leaves its jobs now
        fence_node(state, node)


def rank_of(event: Event) -> int:
    """Which of a source's reports wins."""
    if event.source_seq is not None:
        return event.source_seq
    return event.seq if is_never_late(event.source) else event.occurred_at


def _recovered(state: ClusterState, event: Event, payload: ev.NodeRecovered) -> None:
    node = state.nodes.get(payload.node)
    if node is None:
        return
    for flag in _RECOVERS:
        set_mark(
            node.marks,
            flag,
            event.source,
            Mark(on=False, rank=rank_of(event), since=event.occurred_at, reason=payload.reason),
        )
    refresh_condition(state, node)


def _clearing(*flags: Flag) -> Callable[[ClusterState, Event, Any], None]:
    """A handler that ends these flags, whoever set them; the sender's own earlier reports lose to it even when they come late."""

    def handle(state: ClusterState, event: Event, payload: ev.NodeReleased | ev.NodeUndrained | ev.RepairFinished) -> None:
        node = state.nodes.get(payload.node)
        if node is None:
            return
        for flag in flags:
            off = Mark(on=False, rank=rank_of(event), since=event.occurred_at)
            if set_mark(node.marks, flag, event.source, off):
                clear_flag(node.marks, flag)
        refresh_condition(state, node)

    return handle


HANDLERS: dict[type, Callable[[ClusterState, Event, Any], None]] = {
    **dict.fromkeys(_FLAG_OF, _mark),
    ev.NodeRecovered: _recovered,
    ev.NodeReleased: _clearing(Flag.QUARANTINED),
    ev.NodeUndrained: _clearing(Flag.DRAINING),
    ev.RepairFinished: _clearing(Flag.IN_REPAIR, Flag.FAILED),
}
