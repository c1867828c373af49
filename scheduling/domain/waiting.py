"""Why a job waits, counted at this moment.

The log tells a refusal when its code changes; its counts grow old with every job that ends. People who look want those of now.
"""

from __future__ import annotations

from clusters.domain.decision import Refusal
from clusters.domain.jobs import QUEUED, JobState
from clusters.domain.state import Job
from scheduling.domain.quotas import terms_now
from scheduling.domain.terms import HELD
from scheduling.domain.trial import Trial


def refusal_now(trial: Trial, job: Job) -> Refusal | None:
    """What keeps a held or blocked job from nodes; None for any other. One untouched trial serves all jobs of a page.

    Where the job is stalled, or would fit by now and only the next pass is to come, that is the refusal that was told last.
    """
    if job.state is JobState.HELD:
        return Refusal(code=HELD, message=f"held: {job.reason}" if job.reason else "submitted on hold")
    if not job.blocked:
        return None
    told = Refusal(code=job.blocked, counts=job.counts)
    return told if job.state not in QUEUED else counted(trial, job) or told


def counted(trial: Trial, job: Job) -> Refusal | None:
    """What keeps a job of the queue from its turn or from nodes, whether it has been told or not; None where there is room for it."""
    terms = terms_now(trial.state, job, trial.now)
    if terms is not None:
        return terms
    outcome = trial.place(job.request, job)
    return trial.final(job.request, outcome, job) if isinstance(outcome, Refusal) else None
