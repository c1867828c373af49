"""The queue: waiting jobs in order of priority, then age.

A job that cannot be placed does not stop those behind it. Within one pass placements only take space away, so what was refused once stays
refused, and each distinct request is tried once. A refusal is told when its code changes, not each time.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusters.domain.decision import Refusal
from clusters.domain.events import Payload
from clusters.domain.job_events import JobBlocked, JobPlaced
from clusters.domain.jobs import JobRequest
from scheduling.domain.trial import Trial

_Asked = tuple[int | None, int | None, int | None, int | None, bool, int | None]


def place_waiting(trial: Trial) -> Iterator[Payload]:
    """JobPlaced and JobBlocked, in queue order; the trial has taken what each JobPlaced says before the next job is looked at."""
    refused: dict[_Asked, Refusal] = {}
    told: dict[_Asked, Refusal] = {}
    for _, _, name in trial.state.queue:
        job = trial.state.jobs[name]
        asked = _asked(job.request)
        if asked not in refused:
            outcome = trial.place(job.request)
            if not isinstance(outcome, Refusal):
                trial.take(job.request, outcome)
                yield JobPlaced(job=name, generation=job.generation + 1, slices=outcome)
                continue
            refused[asked] = outcome
        if refused[asked].code == job.blocked:
            continue
        if asked not in told:  # all reasons are counted only where they may be news
            told[asked] = trial.final(job.request, refused[asked])
        if told[asked].code != job.blocked:
            yield JobBlocked(job=name, code=told[asked].code, counts=told[asked].counts)


def _asked(request: JobRequest) -> _Asked:
    """What of a request its placement depends on."""
    return (request.nodes, request.gpus, request.slice_size, request.max_slice, request.tail, request.spares)
