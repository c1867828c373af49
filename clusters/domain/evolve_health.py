"""How events of health change the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusters.domain import health_events as ev
from clusters.domain.allocation import fence_node
from clusters.domain.books import Condition
from clusters.domain.checks import BROKEN, CHECK, ask_check, await_check, awaits_answer, end_check, is_broken
from clusters.domain.events import Event
from clusters.domain.health import MAX_VERDICTS, PERSON, SCHEDULER, Flag, Mark, clear_flag, condition_of, is_never_late, set_mark
from clusters.domain.ids import Instant
from clusters.domain.racks import SHUT, RackState, Service
from clusters.domain.signals import outlasting
from clusters.domain.state import ClusterState, Node, is_watched

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

#: Verdicts that take a node out of service for what it did, and so count as flapping when they come again.
TAKEN_OUT = (Flag.FAILED, Flag.UNREACHABLE, Flag.SUSPECT)

#: What a source takes back when it says that the node has recovered.
_RECOVERS = (Flag.FAILED, Flag.UNREACHABLE, Flag.SUSPECT, Flag.DEGRADED)


def refresh_condition(state: ClusterState, node: Node) -> None:
    """Derive the node's condition anew, and whether verdicts watch it, and tell the dense state."""
    node.condition = condition_of(node.marks)
    watch(state, node)
    space = state.built_space
    if space is not None:
        space.set_placeable(space.topology.index[node.name], node.placeable, degraded=node.condition is Condition.DEGRADED)


def watch(state: ClusterState, node: Node) -> None:
    """Have verdicts look at the node where there is something to look at."""
    if is_watched(node):
        state.watched.add(node.name)
    else:
        state.watched.discard(node.name)


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
        if isinstance(payload, ev.NodeFailed) and payload.fencing:  # told late, and dead all the same: its claims are given back, too
            fence_node(state, node, event.occurred_at)
        return
    if flag in BROKEN:  # it is to be repaired, and checked after that
        end_check(state, node)
    if isinstance(payload, ev.NodeFailed):
        if new:
            _note_failure(state, node, event.occurred_at)
        _failed(state, node, payload, event.occurred_at, new=new)
    if event.source == SCHEDULER and flag in TAKEN_OUT:
        _taken_out(node, flag, event.occurred_at)
    refresh_condition(state, node)


def _taken_out(node: Node, flag: Flag, at: Instant) -> None:
    """A verdict took the node out; what else it says of a node that is out is the same occasion."""
    if not any(mark.on for (other, source), mark in node.marks.items() if source == SCHEDULER and other in TAKEN_OUT and other is not flag):
        node.verdicts.append(at)
        del node.verdicts[:-MAX_VERDICTS]


def _note_failure(state: ClusterState, node: Node, at: Instant) -> None:
    """The last failure counts, whatever order they are reported in."""
    if node.failed_at is None or node.failed_at < at:
        node.failed_at = at
        space = state.built_space
        if space is not None:
            space.note_failure(space.topology.index[node.name], at)


def _failed(state: ClusterState, node: Node, payload: ev.NodeFailed, at: Instant, *, new: bool) -> None:
    if new:
        _count_failure(state, node)
    if payload.fencing:  # its work is known to be dead, so it leaves its jobs now
        fence_node(state, node, at)


def _count_failure(state: ClusterState, node: Node) -> None:
    node.failures += 1
    space = state.built_space
    if node.failures >= state.policy.offender_failures and space is not None:
        space.set_offender(space.topology.index[node.name])


def rank_of(event: Event) -> int:
    """Which of a source's reports wins."""
    if event.source_seq is not None:
        return event.source_seq
    return event.seq if is_never_late(event.source) else event.occurred_at


def _recovered(state: ClusterState, event: Event, payload: ev.NodeRecovered) -> None:
    node = state.nodes.get(payload.node)
    if node is None:
        return
    for flag in payload.flags or _RECOVERS:
        set_mark(
            node.marks,
            flag,
            event.source,
            Mark(on=False, rank=rank_of(event), since=event.occurred_at, reason=payload.reason),
        )
    if event.source == SCHEDULER:
        node.signals = outlasting(node.signals)
    refresh_condition(state, node)


def _clearing(*flags: Flag) -> Callable[[ClusterState, Event, Any], None]:
    """A handler that ends these flags, whoever set them; the sender's own earlier reports lose to it even when they come late."""

    def handle(state: ClusterState, event: Event, payload: ev.NodeReleased | ev.NodeUndrained | ev.RepairFinished) -> None:
        node = state.nodes.get(payload.node)
        if node is None:
            return
        was_broken = is_broken(node)
        for flag in flags:
            off = Mark(on=False, rank=rank_of(event), since=event.occurred_at)
            if set_mark(node.marks, flag, event.source, off):
                clear_flag(node.marks, flag)
        if not isinstance(payload, ev.NodeUndrained):
            _start_anew(node, event.occurred_at)
        if was_broken and not is_broken(node):
            await_check(state, node, event.occurred_at)
        elif isinstance(payload, ev.NodeReleased) and event.source.startswith(PERSON):
            end_check(state, node)
        refresh_condition(state, node)

    return handle


def _check_requested(state: ClusterState, event: Event, payload: ev.NodeCheckRequested) -> None:
    node = state.nodes.get(payload.node)
    if node is not None:
        ask_check(state, node, payload.number, event.occurred_at)


def _checked(state: ClusterState, event: Event, payload: ev.NodeChecked) -> None:
    node = state.nodes.get(payload.node)
    if node is None or not awaits_answer(node, payload.number):
        return
    end_check(state, node)
    if not payload.passed:
        said = f"{event.source}: {payload.detail} (event {event.seq})"
        mark = Mark(on=True, rank=event.seq, since=event.occurred_at, reason=f"did not pass its check: {payload.detail}", evidence=(said,))
        set_mark(node.marks, Flag.FAILED, CHECK, mark)
        _count_failure(state, node)
    refresh_condition(state, node)


def end_checks(state: ClusterState) -> None:
    """The policy no longer asks for checks: what waits for one is in service."""
    for node in state.nodes.values():
        if node.unchecked is not None:
            end_check(state, node)
            refresh_condition(state, node)


def _start_anew(node: Node, at: Instant) -> None:
    """Somebody has mended the node, or vouches for it: what was said of it before is over."""
    node.signals.clear()
    node.trusted_at = at


def _rack_state(state: ClusterState, event: Event, payload: ev.RackStateChanged) -> None:
    rack = state.racks.get(payload.rack)
    if rack is None:
        return
    rack.service = Service(state=payload.state, until=payload.until, since=event.occurred_at, reason=payload.reason, by=payload.by)
    if payload.state is RackState.OPEN:
        state.closed_racks.discard(rack.name)
    else:
        state.closed_racks.add(rack.name)
    for node in state.nodes.values():
        if node.rack == rack.name:
            node.shut = payload.state in SHUT
            refresh_condition(state, node)


HANDLERS: dict[type, Callable[[ClusterState, Event, Any], None]] = {
    **dict.fromkeys(_FLAG_OF, _mark),
    ev.NodeRecovered: _recovered,
    ev.RackStateChanged: _rack_state,
    ev.NodeReleased: _clearing(Flag.QUARANTINED),
    ev.NodeUndrained: _clearing(Flag.DRAINING),
    ev.RepairFinished: _clearing(Flag.IN_REPAIR, Flag.FAILED),
    ev.NodeCheckRequested: _check_requested,
    ev.NodeChecked: _checked,
}
