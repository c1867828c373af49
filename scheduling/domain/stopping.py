"""Asking work to stop: nodes stay taken until the connector says that it has.

A cluster without an engine has no connector to say so, and no work either, since nothing was ever started there: what is asked is done.
"""

from __future__ import annotations

from clusters.domain.events import Payload
from clusters.domain.job_events import StopRequested, WorkStopped
from clusters.domain.state import NO_ENGINE, ClusterState


def stop_work(state: ClusterState, asked: StopRequested) -> list[Payload]:
    """The request, and where no engine runs anything its fulfilment."""
    if state.connector != NO_ENGINE:
        return [asked]
    return [asked, WorkStopped(job=asked.job, generation=asked.generation, nodes=asked.nodes, reason="no engine is connected: nothing ran")]
