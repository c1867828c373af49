"""Writing claims in few statements: a decision may place hundreds of nodes, and each has a row for each GPU.

Changes keep their order where it matters: whatever is claimed after a release is written after it. SQLite runs one prepared statement for
many rows. PostgreSQL gets the columns as arrays, a row for each node: each round trip costs as much as the rows, and so does taking a long
statement apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from django.db import IntegrityError
from django.db.backends.utils import CursorWrapper

from clusters.domain.errors import BrokenInvariant
from clusters.eventlog.claims import Change, Claimed, Released

#: Claims that an error names.
MOST_NAMED = 3

_CLAIM_ONE = "INSERT INTO clusters_gpuclaim (cluster_id, node, gpu, job, generation) VALUES (%s, %s, %s, %s, %s)"
_CLAIM_ALL = """
INSERT INTO clusters_gpuclaim (cluster_id, node, gpu, job, generation)
SELECT %s::bigint, given.node, gpu, given.job, given.generation
FROM unnest(%s::text[], %s::text[], %s::text[], %s::integer[]) AS given(node, gpus, job, generation),
unnest(given.gpus::smallint[]) AS gpu
"""
_RELEASE_ONE = "DELETE FROM clusters_gpuclaim WHERE cluster_id = %s AND node = %s AND (%s = '' OR (job = %s AND generation <= %s))"
_RELEASE_ALL = """
DELETE FROM clusters_gpuclaim AS claim USING unnest(%s::text[], %s::text[], %s::integer[]) AS gone(node, job, generation)
WHERE claim.cluster_id = %s AND claim.node = gone.node
AND (gone.job = '' OR (claim.job = gone.job AND claim.generation <= gone.generation))
"""


def write_claims(cursor: CursorWrapper, cluster_id: int, changes: Iterable[Change]) -> None:
    """Write the changes; raises BrokenInvariant where a GPU would get a second owner, and then the transaction must be rolled back."""
    for kind, run in groupby(changes, type):
        if kind is Claimed:
            _claim(cursor, cluster_id, [change for change in run if isinstance(change, Claimed)])
        else:
            _release(cursor, cluster_id, [change for change in run if isinstance(change, Released)])


def _claim(cursor: CursorWrapper, cluster_id: int, claims: Sequence[Claimed]) -> None:
    try:
        if cursor.db.vendor == "sqlite":
            rows = [(cluster_id, claim.node, gpu, claim.job, claim.generation) for claim in claims for gpu in claim.gpus]
            cursor.executemany(_CLAIM_ONE, rows)
        else:
            nodes = [(claim.node, f"{{{','.join(map(str, claim.gpus))}}}", claim.job, claim.generation) for claim in claims]
            cursor.execute(_CLAIM_ALL, (cluster_id, *map(list, zip(*nodes, strict=True))))
    except IntegrityError as error:
        given = ", ".join(f"{claim.node} to {claim.job}" for claim in claims[:MOST_NAMED])
        more = f" and {len(claims) - MOST_NAMED} more" if len(claims) > MOST_NAMED else ""
        raise BrokenInvariant(f"GPUs were given that another job holds; given were those of {given}{more}") from error


def _release(cursor: CursorWrapper, cluster_id: int, releases: Sequence[Released]) -> None:
    rows = [(release.node, release.job or "", release.generation) for release in releases]
    if cursor.db.vendor == "sqlite":
        cursor.executemany(_RELEASE_ONE, [(cluster_id, node, job, job, generation) for node, job, generation in rows])
    else:
        cursor.execute(_RELEASE_ALL, (*map(list, zip(*rows, strict=True)), cluster_id))
