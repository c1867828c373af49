"""Reports of running work on its own progress."""

from __future__ import annotations

from clusters.domain.commands import ReportCheckpoint
from clusters.domain.decision import Decision, Refusal
from clusters.domain.job_events import CheckpointReported
from clusters.domain.jobs import ACTIVE
from clusters.domain.state import ClusterState, Job


def report_checkpoint(state: ClusterState, command: ReportCheckpoint) -> Decision | Refusal:
    """The checkpoint counts where the job has nodes, and for the assignment that it was written under."""
    job = state.jobs.get(command.job)
    if job is None:
        return Refusal(code="unknown", message=f"there is no job {command.job} in this cluster, or it has ended")
    if objection := _objection(job, command):
        return Refusal(code="state", message=objection)
    generation = job.generation if command.generation is None else command.generation
    return Decision(events=(CheckpointReported(job=job.id, generation=generation, step=command.step, at=command.at),))


def _objection(job: Job, command: ReportCheckpoint) -> str:
    if job.state not in ACTIVE:
        return f"job {job.id} is {job.state}; only a job with nodes saves its progress"
    if command.generation is not None and command.generation != job.generation:
        return f"the checkpoint is of generation {command.generation}, and job {job.id} of generation {job.generation}"
    return ""
