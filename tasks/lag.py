"""How far the lists are behind the logs."""

from __future__ import annotations

from clusters.eventlog.models import LogHead, ProjectionPosition


def projection_lags() -> dict[tuple[str, str], int]:
    """(cluster, projection) -> events of its log that the rows in use do not have yet."""
    heads = dict(LogHead.objects.values_list("cluster_id", "seq"))
    live = ProjectionPosition.objects.filter(live=True, cluster__in=heads)
    rows = live.order_by("cluster", "name").values_list("cluster_id", "cluster__name", "name", "seq")
    return {(cluster, projection): max(0, heads[key] - seq) for key, cluster, projection, seq in rows}
