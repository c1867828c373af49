"""Reading the assignment of a job of this installation."""

from __future__ import annotations

from clusters.domain.decision import Refusal
from clusters.eventlog.live import live
from clusters.eventlog.store import default_log
from scheduling.launch.assignment import Launch, launch_before, launch_now


def job_launch(*, cluster: str, job: str, generation: int | None = None) -> Launch | Refusal:
    """The assignment that the job has, or had in that generation; of a job that has ended, the last one.

    Raises UnknownCluster, UnknownSubject.
    """
    with live(cluster).reading() as state:
        found = state.jobs.get(job)
        if found is not None and (found.slices or generation is None) and generation in (None, found.generation):
            return launch_now(state, found)
    events = list(default_log().about(cluster, job))
    with live(cluster).reading() as state:
        return launch_before(state, job, events, generation)
