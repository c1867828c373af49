"""Asking the engine to check repaired nodes: once for each repair. What comes of it is told by the engine alone."""

from __future__ import annotations

from collections.abc import Iterator

from clusters.domain.health_events import NodeCheckRequested
from clusters.domain.state import ClusterState


def checks_due(state: ClusterState) -> Iterator[NodeCheckRequested]:
    """The checks that nobody has asked for yet."""
    for name in sorted(state.unasked):
        yield NodeCheckRequested(node=name, number=state.nodes[name].checks + 1)
