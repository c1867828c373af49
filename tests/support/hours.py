"""Hours of a cluster in memory: work that takes its time, jobs that come, and passes exactly when something happens or is due."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from clusters.domain import job_events as ev
from clusters.domain.ids import Duration, Instant
from clusters.domain.jobs import JobRequest, JobState
from clusters.domain.policy import Policy
from clusters.domain.space_events import SpaceReserved
from scheduling.domain.deadlines import next_deadline
from tests.support.world import Spec, World


class Hours:
    """One cluster; how long each job really runs is known here only."""

    def __init__(self, specs: Iterable[Spec], policy: Policy, *, checked: bool = False) -> None:
        self.world = World(specs, policy, checked=checked)
        self.runs: dict[str, Duration] = {}
        self.started: dict[str, Instant] = {}  # when each job was placed first
        self.first: dict[str, Instant] = {}  # when each job was to start, as it was told first
        self._ends: list[tuple[Instant, str, int]] = []
        self._told = 0

    def submit(self, request: JobRequest, run: Duration) -> str:
        name = self.world.submit(request)
        self.runs[name] = run
        self.settle()
        return name

    def settle(self) -> None:
        """Passes and the connector until nothing more happens at this instant."""
        self.world.settle()
        events = self.world.log.events
        for event in events[self._told :]:
            match event.payload:
                case ev.JobPlaced():
                    self.started.setdefault(event.payload.job, event.occurred_at)
                    end = event.occurred_at + self.runs[event.payload.job]
                    heapq.heappush(self._ends, (end, event.payload.job, event.payload.generation))
                case SpaceReserved():
                    self.first.setdefault(event.payload.job, event.payload.starts_at)
        self._told = len(events)

    def go(self, until: Instant) -> None:
        """Let time pass."""
        while True:
            world = self.world
            deadline = next_deadline(world.state, world.now)
            end = self._ends[0][0] if self._ends else None
            due = min((at for at in (deadline, end) if at is not None), default=None)
            if due is None or due > until:
                break
            world.now = due
            while self._ends and self._ends[0][0] <= due:
                self._end(*heapq.heappop(self._ends)[1:])
            self.settle()
        self.world.now = until

    def _end(self, name: str, generation: int) -> None:
        job = self.world.state.jobs.get(name)
        if job is not None and job.generation == generation and job.state is JobState.RUNNING:
            self.world.finish(name)
