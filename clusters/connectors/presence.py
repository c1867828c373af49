"""When somebody last looked at a cluster, so that a fleet nobody watches may rest."""

from __future__ import annotations

import threading

from clusters.connectors.models import Presence
from clusters.domain.ids import SECOND, Instant
from clusters.eventlog.log import wall_now

#: How often it is written down; other processes see it that much later.
NOTED_EVERY = 10 * SECOND

_noted: dict[str, Instant] = {}
_guard = threading.Lock()


def touch_presence(cluster: str) -> None:
    """A browser shows the cluster now. Cheap: most calls write nothing."""
    now = wall_now()
    with _guard:
        if 0 <= now - _noted.get(cluster, 0) < NOTED_EVERY:
            return
        _noted[cluster] = now
    Presence.objects.update_or_create(cluster=cluster, defaults={"seen": now})


def last_seen(cluster: str) -> Instant:
    """Wall time at which a browser last showed the cluster; 0 = never."""
    return Presence.objects.filter(pk=cluster).values_list("seen", flat=True).first() or 0
