"""Signs of life: a heartbeat tells "nothing happens" from "nobody is there".

The parts are `pass` and `slow` (a worker of that queue has run a task sent to it, so the broker works too), `tail` (somebody follows
the logs and wakes the pass) and `pass/CLUSTER`. Each is written at most once in a few seconds, whatever happens.
"""

from __future__ import annotations

import threading
import time

from clusters.domain.ids import Instant
from clusters.eventlog.log import wall_now
from tasks.models import Heartbeat

PASS = "pass"
SLOW = "slow"
TAIL = "tail"
PARTS = (PASS, SLOW, TAIL)

#: Between two notes of a part by one process.
NOTED_EVERY = 3.0

#: A part that has not been heard of for so many seconds is not there: three sweeps of the pass.
MOST_AGE = 35.0

_noted: dict[str, float] = {}
_guard = threading.Lock()


def of_pass(cluster: str) -> str:
    """The part that looks at one cluster."""
    return f"{PASS}/{cluster}"


def beat(part: str) -> None:
    """The part has just done its work. Cheap: most calls write nothing."""
    now = time.monotonic()
    with _guard:
        if now - _noted.get(part, float("-inf")) < NOTED_EVERY:
            return
        _noted[part] = now
    Heartbeat.objects.update_or_create(part=part, defaults={"at": wall_now()})


def last_beats() -> dict[str, Instant]:
    """Wall time of each part's last beat."""
    return dict(Heartbeat.objects.values_list("part", "at"))
