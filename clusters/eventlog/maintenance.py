"""The one way past the rule that a log is never changed: for removing a cluster, and for emptying test databases.

Triggers in the database refuse every update and delete of the log unless a maintenance entry is open. `unlocked` opens one, which says
who and why, and closes it in the same transaction, so nobody else ever sees it open and none can be opened without leaving a trace.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections, transaction

from clusters.domain.errors import InvalidRequest, UnknownCluster
from clusters.eventlog.log import wall_now

audit = logging.getLogger("slicekeeper.audit")

#: Events deleted in one transaction: about 20 ms, so that appends to other clusters go on in between.
CHUNK = 2_000

_OPEN = "INSERT INTO clusters_maintenanceentry (at, by, reason, open) VALUES (%s, %s, %s, %s) RETURNING id"
_SET_OPEN = "UPDATE clusters_maintenanceentry SET open = %s WHERE id = %s"

#: Everything that belongs to a cluster but its events, which go in chunks, and its own row, which goes last.
_TABLES = (
    "logdecision",
    "logsource",
    "logsnapshot",
    "gpuclaim",
    "projectionposition",
    "jobrecord",
    "domainrecord",
    "shaperecord",
    "bookssample",
)


@contextmanager
def unlocked(by: str, reason: str, alias: str = "default") -> Iterator[int]:
    """Let this transaction change logs; yields the entry's id."""
    for field, value in (("by", by), ("reason", reason)):
        if not value.strip():
            raise InvalidRequest(field, value, "say who changes the log, and why")
    with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
        cursor.execute(_OPEN, (wall_now(), by, reason, True))
        entry: int = cursor.fetchone()[0]
        audit.warning("event log unlocked by %r: %s (entry %d)", by, reason, entry)
        yield entry
        cursor.execute(_SET_OPEN, (False, entry))


@contextmanager
def _again(entry: int, alias: str) -> Iterator[None]:
    """Go on under an entry in another transaction."""
    with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
        cursor.execute(_SET_OPEN, (True, entry))
        yield
        cursor.execute(_SET_OPEN, (False, entry))


def remove_cluster(name: str, by: str, reason: str, alias: str = "default") -> None:
    """Remove a cluster with all its history. It is gone at once; its events follow in chunks. Interrupted, call it again."""
    with connections[alias].cursor() as cursor:
        cursor.execute("SELECT id FROM clusters_cluster WHERE name = %s", (name,))
        row = cursor.fetchone()
        if row is None:
            raise UnknownCluster(f"there is no cluster {name!r}")
        key = (row[0],)
        with unlocked(by, f"remove cluster {name!r}: {reason}", alias) as entry:
            cursor.execute("DELETE FROM clusters_loghead WHERE cluster_id = %s", key)
        cursor.execute("SELECT COALESCE(MAX(seq), 0) FROM clusters_logevent WHERE cluster_id = %s", key)
        (last,) = cursor.fetchone()
        for upto in range(CHUNK, last + CHUNK, CHUNK):
            with _again(entry, alias):
                cursor.execute("DELETE FROM clusters_logevent WHERE cluster_id = %s AND seq <= %s", (*key, upto))
        with _again(entry, alias):
            for table in _TABLES:
                cursor.execute(f"DELETE FROM clusters_{table} WHERE cluster_id = %s", key)
            cursor.execute("DELETE FROM clusters_cluster WHERE id = %s", key)


def empty_logs(alias: str) -> None:
    """Delete the logs of all clusters; call it within `unlocked`."""
    with connections[alias].cursor() as cursor:
        cursor.execute("DELETE FROM clusters_logevent")
        cursor.execute("DELETE FROM clusters_logdecision")
