"""Looks after spares: which domains have too few, and what would restore them. It changes nothing.

A repaired node needs no task to become a spare: by the books it is one as soon as it is free. Lent spares are taken back by the pass.
"""

from __future__ import annotations

from celery import shared_task

from clusters.domain.errors import UnknownCluster
from clusters.eventlog.store import default_log
from scheduling.spares import spares_forget_removed, spares_review


@shared_task(name="tasks.spares.review")
def review(cluster: str) -> None:
    """Look at one cluster, for some milliseconds."""
    try:
        spares_review(cluster)
    except UnknownCluster:  # removed since the message was sent
        return


@shared_task(name="tasks.spares.look")
def look() -> None:
    """Have every cluster looked at."""
    spares_forget_removed()
    for cluster in default_log().clusters():
        review.delay(cluster)
