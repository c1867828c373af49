"""Writing claims in few statements: a decision may place hundreds of nodes, and each has a row for each GPU.

Changes keep their order where it matters: whatever is claimed after a release is written after it. Releases of one job come together, and
so do claims of all jobs in a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from django.db import IntegrityError
from django.db.backends.utils import CursorWrapper

from clusters.domain.errors import BrokenInvariant
from clusters.eventlog import sql
from clusters.eventlog.claims import Change, Claimed, Released

#: Rows, or nodes, of one statement: few enough for the parameters that any database takes.
MOST_AT_ONCE = 150
#: Claims that an error names.
MOST_NAMED = 3

Item = TypeVar("Item")

_ROW = f"({sql.placeholders(5)})"


def write_claims(cursor: CursorWrapper, cluster_id: int, changes: Iterable[Change]) -> None:
    """Write the changes; raises BrokenInvariant where a GPU would get a second owner, and then the transaction must be rolled back."""
    for kind, run in groupby(changes, _kind):
        if kind is None:
            _claim(cursor, cluster_id, [change for change in run if isinstance(change, Claimed)])
        else:
            _release(cursor, cluster_id, kind, [change.node for change in run])


def _kind(change: Change) -> tuple[str | None, int] | None:
    """Changes that are alike in this go into one statement: claims, or releases of one job up to one generation."""
    return (change.job, change.generation) if isinstance(change, Released) else None


def _claim(cursor: CursorWrapper, cluster_id: int, claims: Sequence[Claimed]) -> None:
    rows = [(cluster_id, claim.node, gpu, claim.job, claim.generation) for claim in claims for gpu in claim.gpus]
    try:
        for some in _some(rows):
            cursor.execute(sql.CLAIM.format(", ".join([_ROW] * len(some))), [value for row in some for value in row])
    except IntegrityError as error:
        given = ", ".join(f"{claim.node} to {claim.job}" for claim in claims[:MOST_NAMED])
        raise BrokenInvariant(f"GPUs were given that another job holds; given were those of {given}{_more(claims)}") from error


def _more(claims: Sequence[Claimed]) -> str:
    return f" and {len(claims) - MOST_NAMED} more" if len(claims) > MOST_NAMED else ""


def _release(cursor: CursorWrapper, cluster_id: int, whose: tuple[str | None, int], nodes: Sequence[str]) -> None:
    job, generation = whose
    for some in _some(nodes):
        marks = sql.placeholders(len(some))
        if job is None:
            cursor.execute(sql.RELEASE_ALL.format(marks), (cluster_id, *some))
        else:
            cursor.execute(sql.RELEASE.format(marks), (cluster_id, job, generation, *some))


def _some(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[first : first + MOST_AT_ONCE] for first in range(0, len(items), MOST_AT_ONCE))
