"""Fetching signals: the task finds what is due and hands it to threads of its own.

An address can take twenty seconds to answer, and nothing may hold up a worker so long, least of all the embedded one. A source that is
being asked is not asked again.
"""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from celery import shared_task
from django.db import DatabaseError, connections

from clusters.eventlog.log import wall_now
from clusters.eventlog.store import default_log
from clusters.signals.heartbeats import beats_look
from clusters.signals.models import SignalSource
from clusters.signals.polling import source_poll, sources_forget_removed, sources_take_due
from tasks import heartbeat

logger = logging.getLogger(__name__)

#: The part that watches over agents and sources of signals.
WATCH = "signals"

#: Sources that one process asks at the same time.
THREADS = 4

_asking: set[int] = set()
_guard = threading.Lock()


@shared_task(name="tasks.polls.look")
def look() -> None:
    """Have every source asked that is due, and see which agents have fallen silent."""
    clusters, now = default_log().clusters(), wall_now()
    beats_look(clusters, now, heartbeat.last_beats().get(WATCH, 0))
    heartbeat.beat(WATCH)
    sources_forget_removed(clusters)
    for source in sources_take_due(now):
        with _guard:
            if source.pk in _asking:
                continue
            _asking.add(source.pk)
        _threads().submit(_ask, source)


def _ask(source: SignalSource) -> None:
    try:
        source_poll(source)
    except DatabaseError as error:
        logger.error("the signal source %s could not be asked (%s); it is again when it is due", source, error)  # noqa: TRY400
    except Exception:  # a thread's failure shows nowhere else
        logger.exception("asking the signal source %s failed", source)
    finally:
        with _guard:
            _asking.discard(source.pk)
        connections.close_all()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="signals")
