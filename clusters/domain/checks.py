"""The check between a repair and the next work: a repaired node waits for it, and takes nothing meanwhile.

The wait begins when a repair ends what had taken the node out, on a cluster whose policy asks for it and whose engine can be asked. It
ends when the check has passed, when the node is out again, when a person vouches for it, or with the policy's switch.
"""

from __future__ import annotations

from clusters.domain.health import Flag
from clusters.domain.ids import Instant
from clusters.domain.state import ClusterState, Node

#: The source of what a failed check says of a node. Its own: a connector that takes back its failures has not repaired anything.
CHECK = "check"

#: A node with one of these is not repaired.
BROKEN = (Flag.FAILED, Flag.IN_REPAIR)


def is_broken(node: Node) -> bool:
    """Whether somebody says that it has failed, or is in repair."""
    return any(mark.on and flag in BROKEN for (flag, _), mark in node.marks.items())


def await_check(state: ClusterState, node: Node, at: Instant) -> None:
    """The node is repaired, and waits from now on if the policy wants it checked."""
    if state.has_engine and state.policy.check_repaired:
        node.unchecked, node.asked_at = at, None
        state.unasked.add(node.name)


def ask_check(state: ClusterState, node: Node, number: int, at: Instant) -> None:
    """The engine is asked for the check of this number."""
    node.checks = max(node.checks, number)
    if node.unchecked is not None:
        node.asked_at = at
        state.unasked.discard(node.name)


def awaits_answer(node: Node, number: int) -> bool:
    """Whether the node waits for the answer to the check of this number."""
    return node.asked_at is not None and number == node.checks


def end_check(state: ClusterState, node: Node) -> None:
    """The node no longer waits for a check."""
    node.unchecked = node.asked_at = None
    state.unasked.discard(node.name)


def is_unasked(node: Node) -> bool:
    """Whether it waits for a check that nobody has asked for yet."""
    return node.unchecked is not None and node.asked_at is None
