"""Lost work: what a disruption costs a job, in GPU-time.

Rollback is work that has to be done again: the GPUs rolled back, times the time since the last checkpoint. Stall is the time for which GPUs
that the job still holds stand idle until it runs everywhere again. Both are booked by job, cause and team.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from clusters.domain.ids import MINUTE, SECOND, Duration, Instant
from clusters.domain.jobs import JobRequest

#: Checkpoints are taken to be so far apart where a job does not say.
USUAL_INTERVAL = 60 * MINUTE


class LossCause(StrEnum):
    """What disrupted a job."""

    NODE_FAILED = "node-failed"  # failed, or in repair
    NODE_LOST = "node-lost"  # unreachable, absent or removed
    WORK_STOPPED = "work-stopped"  # on a node that nothing else is said of
    MOVED = "moved"  # a slice went elsewhere though its nodes were well
    DEFRAG = "defrag"  # a plan moved a slice of it, or made it wait, so that there is room for another
    PREEMPTED = "preempted"  # the whole job gave its nodes back, and waits again


@dataclass(frozen=True, slots=True, kw_only=True)
class Disruption:
    """A job has stood still since `at`, and is not whole yet."""

    at: Instant
    cause: LossCause  # of what came first
    rollback: Duration  # GPU-time
    waiting_gpus: int  # that it still held then


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What a disruption cost, once it was over. The next decision of the scheduler books it."""

    job: str
    team: str
    cause: LossCause
    rollback: Duration  # GPU-time, as is `stall`
    stall: Duration


def checkpoint_interval(request: JobRequest) -> Duration:
    """The time between checkpoints that the job declares, or the usual one."""
    return USUAL_INTERVAL if request.checkpoint_interval_s is None else request.checkpoint_interval_s * SECOND


def since_checkpoint(request: JobRequest, began: Instant | None, checkpoint_at: Instant | None, now: Instant) -> Duration:
    """Work of each GPU that is gone with its memory at `now`.

    `began` is when work that no checkpoint holds may have begun: the start of the job, or its last resumption from a checkpoint; None: it
    has not run. Where no checkpoint has been reported for two intervals, nobody reports them: the job is then taken to keep one each
    interval, and to have lost one interval, but no more than it has run.
    """
    if began is None:
        return 0
    last = began if checkpoint_at is None else max(began, checkpoint_at)
    gap, interval = max(0, now - last), checkpoint_interval(request)
    return gap if gap < 2 * interval else min(interval, max(0, now - began))
