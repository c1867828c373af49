"""The scheduling pass as a task, and the sweep: the net under wake-ups that were lost."""

from __future__ import annotations

from celery import shared_task

from clusters.domain.errors import UnknownCluster
from clusters.eventlog.store import default_log
from scheduling import services
from tasks import housekeeping
from tasks.waking import Waker


@shared_task(name="tasks.passes.run_pass")
def run_pass(cluster: str) -> None:
    """Settle, recover and place in one cluster until nothing is left to do."""
    waker.begun(cluster)
    try:
        services.run_pass(cluster)
    except UnknownCluster:  # removed since the wake-up was sent
        return


@shared_task(name="tasks.passes.sweep")
def sweep() -> None:
    """Wake the pass and the housekeeping of every cluster: a pass that finds nothing to do writes nothing."""
    for cluster in default_log().clusters():
        waker.wake(cluster)
        housekeeping.keep.delay(cluster)


def _send(cluster: str) -> None:
    run_pass.delay(cluster)


waker = Waker(_send)
