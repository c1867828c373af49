"""The scheduling pass as a task, and the sweep: the net under wake-ups that were lost."""

from __future__ import annotations

import time

from celery import shared_task

from clusters.domain.errors import UnknownCluster
from clusters.eventlog.store import default_log
from scheduling import services
from tasks import heartbeat, housekeeping, waking
from tasks.waking import Waker

#: After this time a pass makes room for other messages; one decision takes up to 20 ms.
STEP_SECONDS = 0.03


@shared_task(name="tasks.passes.run_pass", expires=waking.LIFE)
def run_pass(cluster: str) -> None:
    """Settle, recover and place in one cluster; what is left after a while is another message."""
    waker.begun(cluster)
    deadline = time.monotonic() + STEP_SECONDS
    try:
        _, more = services.pass_step(cluster)
        while more and time.monotonic() < deadline:
            _, more = services.pass_step(cluster)
    except UnknownCluster:  # removed since the wake-up was sent
        return
    heartbeat.beat(heartbeat.of_pass(cluster))
    if more:
        waker.wake(cluster)


@shared_task(name="tasks.passes.sweep")
def sweep() -> None:
    """Wake the pass and the housekeeping of every cluster: a pass that finds nothing to do writes nothing."""
    heartbeat.beat(heartbeat.PASS)
    housekeeping.canary.delay()
    for cluster in default_log().clusters():
        waker.wake(cluster)
        housekeeping.keep.delay(cluster)


def _send(cluster: str) -> None:
    run_pass.delay(cluster)


waker = Waker(_send)
