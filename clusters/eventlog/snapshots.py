"""Taking snapshots of the clusters of this installation."""

from __future__ import annotations

from clusters.eventlog.store import default_log

INTERVAL = 20_000  # events between snapshots: folding so many takes about 0.1 s


def maybe_snapshot(cluster: str, interval: int = INTERVAL) -> bool:
    """Keep the state if the last snapshot is `interval` events old; returns whether it did."""
    log = default_log()
    if log.head(cluster) - log.snapshot_seq(cluster) < interval:
        return False
    with log.live(cluster).reading() as state:
        log.save_snapshot(cluster, state)
    return True
