"""What was seen of a node: its signals, the verdicts against it, and how far it is one that fails again and again."""

from __future__ import annotations

from typing import Any

from clusters.domain.state import ClusterState
from frontend.selectors.clusters import now_of
from frontend.selectors.signals import signals_heard
from scheduling.domain.verdicts.flapping import lemon_score


def past_context(state: ClusterState, name: str) -> dict[str, Any] | None:
    """The history of a node, or None where nothing was ever said of it; the caller holds the state."""
    node = state.nodes[name]
    signals = signals_heard(state, name)
    if not signals and not node.verdicts and not node.failures:
        return None
    return {
        "signals": signals,
        "standing": sum(heard.stands for heard in signals),
        "verdicts": list(reversed(node.verdicts)),
        "failures": node.failures,
        "score": lemon_score(node, now_of(state)),
    }
