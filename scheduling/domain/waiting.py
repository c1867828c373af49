"""Why a job waits, counted at this moment.

The log tells a refusal when its code changes; its counts grow old with every job that ends. People who look want those of now.
"""

from __future__ import annotations

from clusters.domain.decision import Refusal
from clusters.domain.jobs import QUEUED, TERMINAL, JobRequest, JobState
from clusters.domain.state import Job
from scheduling.domain.lending import on_spares
from scheduling.domain.quotas import never_within, terms_now, terms_of
from scheduling.domain.stalls import is_stalled, stalled_now
from scheduling.domain.terms import HELD, QUOTA
from scheduling.domain.trial import Trial


def refusal_now(trial: Trial, job: Job) -> Refusal | None:
    """What keeps a held or blocked job from nodes; None for any other. One untouched trial serves all jobs of a page.

    Where the job would fit by now and only the next pass is to come, that is the refusal that was told last.
    """
    if job.state is JobState.HELD:
        return Refusal(code=HELD, message=f"held: {job.reason}" if job.reason else "submitted on hold")
    if not job.blocked:
        return None
    told = Refusal(code=job.blocked, counts=job.counts)
    if is_stalled(job):
        return stalled_now(trial, job) or told
    return counted_apart(trial, job) or told if job.state in QUEUED else told


def counted(trial: Trial, job: Job) -> Refusal | None:
    """What keeps a job of the queue from its turn or from nodes, whether it has been told or not; None where there is room for it."""
    terms = terms_now(trial.state, job, trial.now)
    if terms is not None:
        return _with_most(trial, job, terms)
    outcome = trial.place(job.request, job)
    return trial.final(job.request, outcome, job) if isinstance(outcome, Refusal) else None


def would_wait(trial: Trial, request: JobRequest) -> Refusal | None:
    """The same for a request that nobody has submitted yet."""
    jobs = trial.state.jobs
    awaits = [name for name in request.after if name in jobs and jobs[name].state not in TERMINAL]
    terms = terms_of(trial.state, request, awaits, trial.now)
    if terms is not None:
        return terms
    outcome = trial.place(request)
    return trial.final(request, outcome) if isinstance(outcome, Refusal) and not on_spares(trial, request) else None


def _with_most(trial: Trial, job: Job, terms: Refusal) -> Refusal:
    """A refusal for the quota, with the most that the team could ever have where that is too little: the policy has changed meanwhile."""
    if terms.code != QUOTA:
        return terms
    most = never_within(trial.policy, job.request.team, int(terms.counts["asked"]))
    return terms if most is None else Refusal(code=QUOTA, counts={**terms.counts, "most": most})


def counted_apart(trial: Trial, job: Job) -> Refusal | None:
    """The same, with what is free beside the nodes that are kept for the job itself, and the free ones of those apart.

    Others get what is kept for it once it asks for something else: so what it is told of free nodes is what other requests would find.
    """
    refusal, views = counted(trial, job), trial.views
    closed = views.closed_to(job.request, job)
    own = views.kept_for(job)
    if refusal is None or not own or "free_nodes" not in refusal.counts:
        return refusal
    kept = sum((trial.space.free[domain] & mask).bit_count() for closure in views.closures(own) for domain, mask in closure.masks.items())
    beside = trial.place_in(views.space(closed | own), job.request)
    if not kept or not isinstance(beside, Refusal):
        return refusal
    counts = {**trial.reasons(beside).counts, "kept_for_job": kept}
    if "min_spares" in refusal.counts:
        counts["min_spares"] = refusal.counts["min_spares"]
    return Refusal(code=refusal.code, message=refusal.message, counts=dict(sorted(counts.items())))
