"""How far the lists are behind the logs, and what may hold up the database."""

from __future__ import annotations

from django.db import connection

from clusters.eventlog.models import LogHead, ProjectionPosition

_OLDEST = (
    "SELECT COALESCE(MAX(EXTRACT(EPOCH FROM clock_timestamp() - xact_start)), 0) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
)


def oldest_transaction_s() -> float | None:
    """Seconds for which the oldest transaction of the database has been open, 0 where none is; None where the database does not tell.

    While one is open PostgreSQL cleans up nothing that came after it, so tables and indexes grow. That of whoever asks does not count.
    """
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute(_OLDEST)
        return float(cursor.fetchone()[0])


def projection_lags() -> dict[tuple[str, str], int]:
    """(cluster, projection) -> events of its log that the rows in use do not have yet."""
    heads = dict(LogHead.objects.values_list("cluster_id", "seq"))
    live = ProjectionPosition.objects.filter(live=True, cluster__in=heads)
    rows = live.order_by("cluster", "name").values_list("cluster_id", "cluster__name", "name", "seq")
    return {(cluster, projection): max(0, heads[key] - seq) for key, cluster, projection, seq in rows}
