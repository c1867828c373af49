"""Looks for plans that make room. The search itself is a child process, which reports back by a command of its own."""

from __future__ import annotations

import time

from celery import shared_task

from clusters.domain.errors import UnknownCluster
from clusters.eventlog.store import default_log
from scheduling.plans import plan_search, plans_forget_removed, plans_review

#: Events that may call for a plan at once.
CALLS = frozenset({"JobBlocked", "RoomRequested", "SliceStalled"})

#: One cluster is looked at because of events at most so often; the beat looks anyway.
PAUSE_SECONDS = 1.0


@shared_task(name="tasks.defrag.search")
def search(cluster: str) -> None:
    """Do away with proposals that no longer hold in one cluster, and begin a search where something calls for a plan."""
    try:
        plans_review(cluster)
        plan_search(cluster)
    except UnknownCluster:  # removed since the message was sent
        return


@shared_task(name="tasks.defrag.look")
def look() -> None:
    """Have every cluster looked at."""
    plans_forget_removed()
    for cluster in default_log().clusters():
        search.delay(cluster)


class Calls:
    """Sends for a search where an event calls for one, not too often."""

    def __init__(self) -> None:
        self._sent: dict[str, float] = {}

    def note(self, cluster: str, kind: str) -> None:
        """Such an event was appended; raises OperationalError where there is no broker."""
        if kind not in CALLS:
            return
        now = time.monotonic()
        if now - self._sent.get(cluster, -PAUSE_SECONDS) >= PAUSE_SECONDS:
            self._sent[cluster] = now
            search.delay(cluster)
