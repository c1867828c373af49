"""What only the simulation knows of a job: how long it takes and how it ends."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.connectors.base import Work
from clusters.connectors.simulated.chance import lognormal, uniform
from clusters.domain.ids import HOUR, SECOND, Duration
from clusters.domain.jobs import JobKind

FINISHED, FAILED, CANCELLED = "finished", "failed", "cancelled"
OUTCOMES = (FINISHED, FAILED, CANCELLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The fate of one job."""

    duration: Duration  # of work, all its nodes running
    outcome: str  # one of OUTCOMES


#: (median in hours, sigma) of jobs that people submit without an expected run time.
_USUAL: dict[JobKind, tuple[float, float]] = {
    JobKind.TRAINING: (8.0, 0.9),
    JobKind.INFERENCE: (24.0, 0.7),
    JobKind.BATCH: (1.0, 1.0),
    JobKind.INTERACTIVE: (2.0, 0.7),
    JobKind.RL: (8.0, 0.9),
    JobKind.PROBE: (0.1, 1.0),
}


def users_truth(seed: int, work: Work) -> Truth:
    """A job that somebody submitted takes the time that its user expects, else one that is usual for its kind."""
    if work.request.expected_run_s is not None:
        return Truth(duration=work.request.expected_run_s * SECOND, outcome=FINISHED)
    median, sigma = _USUAL[work.request.kind]
    hours = lognormal(uniform(seed, "duration", work.job), median, sigma)
    return Truth(duration=max(SECOND, round(hours * HOUR)), outcome=FINISHED)
