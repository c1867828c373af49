"""The users of a fleet: planned jobs of traces, and a generator that keeps the queue filled."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Protocol

from clusters.connectors.base import Work
from clusters.connectors.simulated.truth import Truth
from clusters.domain.events import NewEvent
from clusters.domain.evolve import FLEET_SOURCE
from clusters.domain.ids import Duration, Instant
from clusters.domain.inventory_events import Arrival, ArrivalsPlanned
from clusters.domain.job_events import JobSubmitted
from clusters.domain.jobs import JobRequest


class Generator(Protocol):
    """Makes up jobs. All it says of the n-th job depends on n and what it is asked with, so it says the same after a restart."""

    @property
    def name(self) -> str:
        """The plan that its jobs belong to."""

    def wants(self, waiting: Collection[Work]) -> bool:
        """Whether it submits another job while these wait."""

    def pause(self, number: int) -> Duration:
        """Least time between a job and the one before it."""

    def request(self, number: int, waiting: Collection[Work]) -> JobRequest:
        """What the n-th job asks for."""

    def truth(self, number: int, request: JobRequest, submitted_at: Instant) -> Truth:
        """What becomes of the n-th job."""


class Arrivals:
    """Jobs to come. Each is told once it is due, and is gone from here once it is told."""

    def __init__(self, generator: Generator | None) -> None:
        self._generator = generator
        self._coming: dict[str, deque[tuple[Instant, Arrival]]] = {}  # plan -> jobs not yet submitted
        self._truths: dict[str, Truth] = {}  # "plan:row" -> fate of a planned job
        self._made = 0  # jobs that the generator has submitted
        self._known = 0  # of these, the ones that have come back with an id
        self._last = 0  # when it did so last

    # ---- what happened

    def planned(self, event: ArrivalsPlanned, already: int = 0) -> None:
        """Jobs are planned; those of rows below `already` were submitted before."""
        coming = self._coming.setdefault(event.plan, deque())
        for item in event.items:
            self._truths[f"{event.plan}:{item.row}"] = Truth(duration=item.duration, outcome=item.outcome)
            if item.row >= already:
                coming.append((event.base + item.offset, item))

    def submitted(self, arrival: str, at: Instant) -> None:
        """The job of "plan:row" was submitted, and all before it."""
        plan, _, row = arrival.rpartition(":")
        number = int(row)
        coming = self._coming.get(plan)
        while coming and coming[0][1].row <= number:
            coming.popleft()
        if self._generator is not None and plan == self._generator.name:
            self._made = max(self._made, number + 1)
            self._last = max(self._last, at)

    def resumes(self, plan: str, rows: int) -> None:
        """So many jobs of the plan were submitted before."""
        if self._generator is not None and plan == self._generator.name:
            self._made = self._known = rows

    def known(self, arrival: str) -> None:
        """The job of "plan:row" has an id. The generator sees it among the waiting now, and may go on."""
        plan, _, row = arrival.rpartition(":")
        if self._generator is not None and plan == self._generator.name:
            self._known = max(self._known, int(row) + 1)

    # ---- what is, and what happens next

    def truth_of(self, work: Work, submitted_at: Instant) -> Truth | None:
        """The fate of a job of a plan or of the generator."""
        plan, _, row = work.arrival.rpartition(":")
        if self._generator is not None and plan == self._generator.name:
            return self._generator.truth(int(row), work.request, submitted_at)
        return self._truths.get(work.arrival)

    @property
    def left(self) -> int:
        """Planned jobs not yet submitted."""
        return sum(len(coming) for coming in self._coming.values())

    def due(self, waiting: Collection[Work]) -> Instant | None:
        """When the next job is submitted."""
        dues = [coming[0][0] for coming in self._coming.values() if coming]
        if (generated := self._next_made(waiting)) is not None:
            dues.append(generated)
        return min(dues, default=None)

    def _next_made(self, waiting: Collection[Work]) -> Instant | None:
        generator = self._generator
        if generator is None or self._known < self._made or not generator.wants(waiting):
            return None
        return self._last + generator.pause(self._made)

    def facts(self, at: Instant, waiting: Collection[Work]) -> list[NewEvent]:
        """The submissions due by `at`: of plans all, of the generator one at a time, since the next depends on it."""
        facts = [
            _submission(plan, item.row, item.request, at, "trace")
            for plan, coming in self._coming.items()
            for due, item in coming
            if due <= at
        ]
        generator, due = self._generator, self._next_made(waiting)
        if generator is not None and due is not None and due <= at:
            facts.append(_submission(generator.name, self._made, generator.request(self._made, waiting), at, "demo"))
        return facts


def _submission(plan: str, row: int, request: JobRequest, at: Instant, by: str) -> NewEvent:
    name = f"{plan}:{row}"
    return NewEvent(JobSubmitted(request=request, submitted_by=by, arrival=name), at, FLEET_SOURCE, name)
