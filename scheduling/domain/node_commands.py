"""Commands on nodes: what an operator says of one.

An operator's "failed" is fencing: the work on the node is taken for dead, and the next pass replaces it at once. What says nothing new is
refused with the reason, so that two people, or one with two browser tabs, learn what the node is.
"""

from __future__ import annotations

from collections.abc import Callable

from clusters.domain.commands import MarkNode, NodeVerb
from clusters.domain.decision import Decision, Refusal
from clusters.domain.events import Payload
from clusters.domain.health import PERSON, Flag
from clusters.domain.health_events import NodeDraining, NodeFailed, NodeReleased, NodeUndrained, RepairFinished
from clusters.domain.state import ClusterState, Node


def mark_node(state: ClusterState, command: MarkNode) -> Decision | Refusal:
    """The event that the verb stands for, if it says something new."""
    node = state.nodes.get(command.node)
    if node is None:
        return Refusal(code="unknown", message=f"there is no node {command.node} in this cluster")
    if objection := _OBJECTIONS[command.verb](node):
        return Refusal(code="state", message=f"node {node.name} {objection}")
    reason = command.reason or f"{_DONE[command.verb]} by {command.by}"
    return Decision(events=(_EVENTS[command.verb](node.name, reason),))


def _is_set(node: Node, *flags: Flag) -> bool:
    return any(mark.on and flag in flags for (flag, _), mark in node.marks.items())


def _failed_by_a_person(node: Node) -> bool:
    return any(mark.on and flag is Flag.FAILED and source.startswith(PERSON) for (flag, source), mark in node.marks.items())


_NOT_HELD = "is not quarantined, and waits for no check"

_OBJECTIONS: dict[NodeVerb, Callable[[Node], str]] = {
    NodeVerb.FAIL: lambda node: "was marked failed already; mark it repaired first" if _failed_by_a_person(node) else "",
    NodeVerb.REPAIR: lambda node: "" if _is_set(node, Flag.FAILED, Flag.IN_REPAIR) else f"is {node.condition}; nothing to repair",
    NodeVerb.DRAIN: lambda node: "is draining already" if _is_set(node, Flag.DRAINING) else "",
    NodeVerb.UNDRAIN: lambda node: "" if _is_set(node, Flag.DRAINING) else "is not draining",
    NodeVerb.RELEASE: lambda node: "" if _is_set(node, Flag.QUARANTINED) or node.unchecked is not None else _NOT_HELD,
}

_EVENTS: dict[NodeVerb, Callable[[str, str], Payload]] = {
    NodeVerb.FAIL: lambda node, reason: NodeFailed(node=node, reason=reason, fencing=True),
    NodeVerb.REPAIR: lambda node, reason: RepairFinished(node=node, reason=reason),
    NodeVerb.DRAIN: lambda node, reason: NodeDraining(node=node, reason=reason),
    NodeVerb.UNDRAIN: lambda node, reason: NodeUndrained(node=node, reason=reason),
    NodeVerb.RELEASE: lambda node, reason: NodeReleased(node=node, reason=reason),
}

_DONE: dict[NodeVerb, str] = {
    NodeVerb.FAIL: "marked failed",
    NodeVerb.REPAIR: "marked repaired",
    NodeVerb.DRAIN: "drained",
    NodeVerb.UNDRAIN: "undrained",
    NodeVerb.RELEASE: "released",
}
