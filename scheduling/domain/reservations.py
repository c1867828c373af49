"""Reservations: which nodes are kept for a job that cannot be placed now, and from when on."""

from __future__ import annotations

from collections.abc import Iterator

from clusters.domain.decision import Refusal
from clusters.domain.events import Payload
from clusters.domain.state import Job
from scheduling.domain.trial import Trial


def reserve_for(trial: Trial, job: Job, refusal: Refusal) -> Iterator[Payload]:
    """What the refusal of this job, in its turn of the queue, changes in what is kept for it."""
    del trial, job, refusal
    yield from ()
