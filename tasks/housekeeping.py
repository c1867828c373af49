"""What keeps derived tables and snapshots up to date. Small steps: whatever is left is another message."""

from __future__ import annotations

from celery import shared_task

from clusters.domain.errors import UnknownCluster
from clusters.eventlog.projections import project
from clusters.eventlog.snapshots import maybe_snapshot
from tasks import heartbeat, waking


@shared_task(name="tasks.housekeeping.keep", expires=waking.LIFE)
def keep(cluster: str) -> None:
    """Bring the cluster's projections nearer to the head of its log; once they are there, see whether a snapshot is due."""
    try:
        more = project(cluster)
        if not more:
            maybe_snapshot(cluster)
    except UnknownCluster:  # removed since the message was sent
        return
    if more:
        keep.delay(cluster)


@shared_task(name="tasks.housekeeping.canary", expires=waking.LIFE)
def canary() -> None:
    """Show that somebody works on this queue, whether or not there is a cluster."""
    heartbeat.beat(heartbeat.SLOW)
