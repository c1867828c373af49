"""Reading the assignment of a job of this installation."""

from __future__ import annotations

from clusters.domain.decision import Refusal
from clusters.eventlog.live import live
from clusters.eventlog.store import default_log
from scheduling.launch.assignment import Launch, launch_before, launch_now
from scheduling.launch.formats import Format


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


def incomplete(launch: Launch, form: Format) -> Refusal | None:
    """Why the assignment cannot be written in this format now: a slot has no node, and launchers cannot leave one out."""
    if not launch.lost or form is Format.RANKS:
        return None
    slots = f"{launch.lost} slot{'s have' if launch.lost > 1 else ' has'} no node"
    message = f"job {launch.job} is stalled: {slots} until a spare or another domain has room; only the format ranks shows it as it is"
    return Refusal(code="state", message=message)
