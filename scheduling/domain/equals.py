"""Equal jobs start in the order of their turns, however wrong the estimates were that their promises follow from.

Where a job is promised a sooner start than an equal one whose turn comes before, or could start now while that one waits, the two change
places: the one before gets the sooner start, and the other what that one was promised. As they ask for the same and run for as long, each
can start where the other could. Nobody's promise is put off for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusters.domain.ids import Instant
from clusters.domain.jobs import JobRequest
from clusters.domain.reservations import Reservation, is_claim
from clusters.domain.space_events import SpaceReserved
from clusters.domain.state import Job
from scheduling.domain.shape import asked_of
from scheduling.domain.trial import Trial


def equals_before(trial: Trial, job: Job, after: Instant, until: Instant) -> list[str]:
    """Jobs equal to this one, whose turns came before it, that were promised starts between, each no sooner than the one before it."""
    found: list[str] = []
    for name in trial.passed:
        kept = trial.kept[name]
        if name != job.id and not is_claim(kept) and after <= kept.starts_at <= until and _are_equal(trial.state.jobs[name], job):
            found.append(name)
            after = kept.starts_at
    return found


def hand_down(trial: Trial, names: Sequence[str], first: SpaceReserved) -> Iterator[SpaceReserved]:
    """The first of the jobs gets this promise, and each of the others what the one before it was promised."""
    slots = [first, *(promise_of(trial.kept[name]) for name in names[:-1])]
    for name, slot in zip(names, slots, strict=True):
        reserved = SpaceReserved(job=name, nodes=slot.nodes, starts_at=slot.starts_at, reason=slot.reason)
        trial.keep(reserved)
        trial.pass_by(name)
        yield reserved


def promise_of(kept: Reservation) -> SpaceReserved:
    """What was promised, as it is told."""
    return SpaceReserved(job=kept.job, nodes=kept.nodes, starts_at=kept.starts_at, reason=kept.reason)


def _are_equal(one: Job, other: Job) -> bool:
    return (
        one.priority == other.priority and _terms(one.request) == _terms(other.request) and asked_of(one.request) == asked_of(other.request)
    )


def _terms(request: JobRequest) -> tuple[object, ...]:
    return request.priority_class, request.kind, request.restartable, request.time_limit_s, request.expected_run_s
