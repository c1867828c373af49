"""The event log's SQL. Both databases read the same text but for the lock; parameters are written as Django's cursors take them."""

from __future__ import annotations

POSITION = "SELECT c.id, c.epoch, h.seq FROM clusters_cluster c JOIN clusters_loghead h ON h.cluster_id = c.id WHERE c.name = %s"
NAMES = "SELECT c.name FROM clusters_cluster c JOIN clusters_loghead h ON h.cluster_id = c.id"
#: Django begins SQLite's transactions IMMEDIATE (see settings): there the lock is held before the first statement.
LOCK = {"sqlite": POSITION, "postgresql": f"{POSITION} FOR UPDATE OF h"}

ADD_CLUSTER = "INSERT INTO clusters_cluster (name, epoch) VALUES (%s, %s) ON CONFLICT (name) DO NOTHING"
ADD_HEAD = "INSERT INTO clusters_loghead (cluster_id, seq) SELECT id, 0 FROM clusters_cluster WHERE name = %s"
MOVE_HEAD = "UPDATE clusters_loghead SET seq = %s WHERE cluster_id = %s"

#: The envelope in the order of `Event`, the payload as text.
_ENVELOPE = "seq, kind, version, occurred_at, recorded_at, subject, payload, source, source_id, source_seq, causation, correlation"
EVENT_COLUMNS = f"cluster_id, {_ENVELOPE}, digest"
EVENT_WIDTH = EVENT_COLUMNS.count(",") + 1

_PAGE = "seq > %s AND seq <= %s ORDER BY seq LIMIT %s"
READ = f"SELECT {_ENVELOPE} FROM clusters_logevent WHERE cluster_id = %s AND {_PAGE}"
READ_WITH_DIGEST = f"SELECT {_ENVELOPE}, digest FROM clusters_logevent WHERE cluster_id = %s AND {_PAGE}"
READ_ABOUT = f"SELECT {_ENVELOPE} FROM clusters_logevent WHERE cluster_id = %s AND subject = %s AND {_PAGE}"
FIND = f"SELECT {_ENVELOPE} FROM clusters_logevent WHERE cluster_id = %s AND source = %s AND source_id IN ({{}})"

SOURCES = "SELECT name, sequenced FROM clusters_logsource WHERE cluster_id = %s AND name IN ({})"
ADD_SOURCE = "INSERT INTO clusters_logsource (cluster_id, name, sequenced) VALUES (%s, %s, %s)"

DECISIONS = (
    "SELECT first_seq, count, record FROM clusters_logdecision "
    "WHERE cluster_id = %s AND first_seq > %s AND first_seq <= %s ORDER BY first_seq LIMIT %s"
)
ADD_DECISION = "INSERT INTO clusters_logdecision (cluster_id, first_seq, count, record) VALUES (%s, %s, %s, %s)"

CLAIMS = "SELECT node, gpu, job, generation FROM clusters_gpuclaim WHERE cluster_id = %s"

SNAPSHOTS = "SELECT seq, version, checksum, blob FROM clusters_logsnapshot WHERE cluster_id = %s AND seq <= %s ORDER BY seq DESC"
SNAPSHOT_SEQ = "SELECT COALESCE(MAX(seq), 0) FROM clusters_logsnapshot WHERE cluster_id = %s"
ADD_SNAPSHOT = (
    "INSERT INTO clusters_logsnapshot (cluster_id, seq, version, checksum, blob) VALUES (%s, %s, %s, %s, %s) "
    "ON CONFLICT (cluster_id, seq) DO UPDATE SET version = excluded.version, checksum = excluded.checksum, blob = excluded.blob"
)
PRUNE_SNAPSHOTS = (
    "DELETE FROM clusters_logsnapshot WHERE cluster_id = %s AND seq NOT IN "
    "(SELECT seq FROM clusters_logsnapshot WHERE cluster_id = %s ORDER BY seq DESC LIMIT %s)"
)


def placeholders(count: int) -> str:
    """`%s, %s, ...`"""
    return ", ".join(["%s"] * count)
