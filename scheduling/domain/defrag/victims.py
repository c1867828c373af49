"""Which work a plan may touch, what that costs, and why the rest stays where it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from clusters.domain.disruption import age_of_work, gpus_of
from clusters.domain.ids import SECOND, Instant
from clusters.domain.jobs import ACTIVE, JobKind, Recovery
from clusters.domain.lost_work import checkpoint_interval
from clusters.domain.policy import Policy
from clusters.domain.state import ClusterState, Job
from clusters.domain.teams import class_of
from scheduling.domain.defrag.model import Terms


def points(policy: Policy, job: Job) -> int:
    """The priority of the job: that of its class and its own. What waiting has added is not in it, since work that runs has not waited."""
    return class_of(policy.classes, job.request.priority_class).priority + job.priority


def at_work(state: ClusterState) -> Iterator[Job]:
    """Jobs that have nodes, and those that have lost all of theirs and want others: all active ones, and those that are stopping."""
    yield from state.holders.values()
    yield from (state.jobs[name] for name in state.lost - state.holders.keys())


def weights(state: ClusterState) -> dict[int, int]:
    """Points -> by how much a GPU-second of such work weighs: 1 for the lowest there are among work that runs, one more for each next."""
    alike = {(job.request.priority_class, job.priority): job for job in at_work(state) if job.state in ACTIVE}
    present = sorted({points(state.policy, job) for job in alike.values()})
    return {value: place for place, value in enumerate(present, 1)}


class Prices(NamedTuple):
    """Of one job, in weighted GPU-seconds."""

    own: tuple[int, ...]  # of moving each slice
    shared: int  # beside it what the job pays once, however many of its slices move
    wait: int  # of stopping all of it until there is room again


class Victims:
    """All work of a state, as one plan sees it."""

    def __init__(self, state: ClusterState, now: Instant, terms: Terms, job: Job | None) -> None:
        self._state = state
        self._now = now
        self.terms = terms
        self._job = job
        self._weights = weights(state)
        self._limit = None if job is None or terms.higher else points(state.policy, job)

    def why_not(self, job: Job) -> str:
        """Why the job stays where it is; "" where it may move."""
        terms = self.terms
        if self._job is not None and job.id == self._job.id:
            return "it is what room is made for"
        if job.state not in ACTIVE or job.id in self._state.lost or job.leaving:
            return "it is stopping or moving already"
        if why := _asked(self._state.policy, job) or self._late(job):
            return why
        if job.request.team in terms.exempt:
            return f"team {job.request.team} is exempt"
        if job.id in terms.cooling:
            return "it was moved of late"
        if terms.victims is not None and job.id not in terms.victims:
            return "it may not be disturbed for this"
        above = self._limit is not None and points(self._state.policy, job) > self._limit
        return "it has a higher priority" if above else ""

    def _late(self, job: Job) -> str:
        """A job that reports checkpoints, and has not for two of its intervals, cannot count on the last one.

        One that has told none since it last resumed does not report them, but had been asked for one before it moved.
        """
        since = job.resumed_at or job.started_at or 0
        reported = job.checkpoint_at if job.checkpoint_at is not None and job.checkpoint_at >= since else None
        late = reported is not None and self._now - reported >= 2 * checkpoint_interval(job.request)
        return "its last checkpoint is older than it declares" if late else ""

    def may_wait(self, job: Job, *, below: bool) -> bool:
        """Whether all of the job may stop and wait; with `below` only work of lower priority than the job that needs room."""
        return not below or self._job is None or points(self._state.policy, job) < points(self._state.policy, self._job)

    def prices(self, job: Job) -> Prices:
        """What it costs to move or to stop the job.

        A job that goes back to its checkpoint does so as a whole; where state comes from a peer only the slice is rolled back.
        """
        weight, age, restart = self.weight(job), self.age_s(job), self.terms.restart_s
        gpus = [gpus_of(self._state, part) for part in job.slices]
        alone = job.request.recovery is Recovery.PEER or len(gpus) == 1
        return Prices(
            own=tuple(weight * count * (restart + age if alone else restart) for count in gpus),
            shared=0 if alone else weight * age * sum(gpus),
            wait=weight * sum(gpus) * (age + restart + self.terms.wait_s),
        )

    def weight(self, job: Job) -> int:
        """By how much its GPU-seconds weigh."""
        return self._weights[points(self._state.policy, job)]

    def age_s(self, job: Job) -> int:
        """Seconds of work of each of its GPUs that would be done again."""
        return round(age_of_work(job, self._now) / SECOND)


def _asked(policy: Policy, job: Job) -> str:
    if not job.request.restartable:
        return "it cannot be restarted"
    interactive = job.request.kind is JobKind.INTERACTIVE and not policy.interactive_preemptible
    return "it is interactive" if interactive else ""
