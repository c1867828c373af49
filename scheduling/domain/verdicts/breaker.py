"""The breaker: where verdicts would take out a large share of the fleet at once, the signals are more likely wrong than the nodes.

Nothing is taken out any more until a person has looked. Work that runs goes on. What speaks for the nodes is kept meanwhile, and acts
once the breaker is reset.
"""

from __future__ import annotations

from collections.abc import Collection

from clusters.domain.commands import ResetBreaker
from clusters.domain.decision import Decision, Refusal
from clusters.domain.health import SCHEDULER, Flag
from clusters.domain.incident_events import BreakerReset, BreakerTripped
from clusters.domain.state import ClusterState, Node

#: Flags that count: a node out of reach is what it is, and draining or degraded nodes keep their work.
COUNTED = frozenset({Flag.FAILED, Flag.SUSPECT, Flag.QUARANTINED})


def breaker_limit(state: ClusterState) -> int:
    """Nodes that verdicts may take out together: the policy's share of the fleet, and never less than one domain."""
    return max(state.topology.usual_size, len(state.nodes) * state.policy.breaker_percent // 100)


def trip(state: ClusterState, wanted: Collection[str]) -> BreakerTripped | None:
    """The event that keeps these nodes in, if with those that verdicts took out since the last reset they are too many."""
    limit = breaker_limit(state)
    if len(wanted) <= limit and len(wanted) + len(state.watched) <= limit:
        return None
    out = sum(_is_out(state.nodes[name], state.breaker_reset_at) for name in state.watched if name not in wanted)
    if out + len(wanted) <= limit:
        return None
    reason = f"verdicts would have {out + len(wanted)} of {len(state.nodes)} nodes out, more than {limit}"
    return BreakerTripped(out=out, wanted=len(wanted), limit=limit, reason=reason)


def reset_breaker(state: ClusterState, command: ResetBreaker) -> Decision | Refusal:
    """Verdicts act again, on what was seen until now too."""
    if state.breaker is None:
        return Refusal(code="state", message="the breaker has not tripped")
    return Decision(events=(BreakerReset(by=command.by, reason=command.reason),))


def _is_out(node: Node, since: int | None) -> bool:
    return any(
        mark.on and source == SCHEDULER and flag in COUNTED and (since is None or mark.since > since)
        for (flag, source), mark in node.marks.items()
    )
