"""Quotas of teams: what each may use, and what it may borrow of what the others leave.

A team's use is all GPUs that its jobs hold, those that are stopping included, and those placed earlier in the same pass. Teams without a
quota may use all; they neither borrow nor lend.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from clusters.domain.decision import Refusal
from clusters.domain.ids import Instant
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.slices import whole_nodes
from clusters.domain.state import ClusterState, Job
from clusters.domain.teams import EVERY_OTHER, Quota
from scheduling.domain.terms import QUOTA, waits_for_jobs, waits_for_time


def gpus_asked(request: JobRequest, gpus_per_node: int) -> int:
    """The request in GPUs; whole nodes count whole."""
    nodes = whole_nodes(request, gpus_per_node)
    return nodes * gpus_per_node if nodes else request.gpus or 0


def never_within(policy: Policy, team: str, asked: int) -> int | None:
    """The most GPUs the team could ever have, if that is less than it asks for."""
    quota = _quota_of({row.team: row for row in policy.quotas}, team)
    most = None if quota is None or quota.borrow is None else quota.gpus + quota.borrow
    return None if most is None or asked <= most else most


class Quotas:
    """The quotas as they are used up in the course of one pass."""

    def __init__(self, state: ClusterState, given_back: Mapping[str, int] | None = None) -> None:
        self._usage = state.usage
        self._rows = {row.team: row for row in state.policy.quotas}
        self._taken: Counter[str] = Counter()
        self._taken.subtract(given_back or {})

    def of(self, team: str) -> Quota | None:
        """The quota that holds for the team; None = all."""
        return _quota_of(self._rows, team)

    def used(self, team: str) -> int:
        """GPUs that the team has now."""
        return self._usage.gpus(team) + self._taken[team]

    def take(self, team: str, gpus: int) -> None:
        """A job of the team has been placed, or with a negative number: gives its nodes back."""
        self._taken[team] += gpus

    def borrows(self, team: str, asked: int) -> bool:
        """Whether the team would have more than its quota with so many GPUs more."""
        if not self._rows:
            return False
        quota = self.of(team)
        return quota is not None and self.used(team) + asked > quota.gpus

    def refusal(self, team: str, asked: int) -> Refusal | None:
        """Why the team may not have so many GPUs more now; None where it may."""
        if not self.borrows(team, asked):
            return None
        quota = self._rows.get(team) or self._rows[EVERY_OTHER]
        used = self.used(team)
        could = self._could_borrow(team, quota, used)
        if asked <= max(0, quota.gpus - used) + could:
            return None
        counts: dict[str, int | str] = {"asked": asked, "could_borrow": could, "quota": quota.gpus, "team": team, "used": used}
        return Refusal(code=QUOTA, counts=counts)

    def _could_borrow(self, team: str, quota: Quota, used: int) -> int:
        """GPUs above its quota that the team could have beside those it has: within its limit, and of what others leave."""
        teams = {*self._rows, *self._usage.teams, *self._taken} - {team, EVERY_OTHER}
        left = min(0, quota.gpus - used)  # what the team has borrowed already
        for other in teams:
            row = self.of(other)
            if row is not None:
                left += row.gpus - self.used(other)
        return max(0, left if quota.borrow is None else min(left, quota.borrow - max(0, used - quota.gpus)))


def terms_now(state: ClusterState, job: Job, now: Instant) -> Refusal | None:
    """What keeps a waiting job from its turn, whatever room there is: other jobs, the time, its team's quota."""
    if job.awaits:
        return waits_for_jobs(job.awaits)
    start = job.request.not_before
    if start is not None and start > now:
        return waits_for_time(start)
    return Quotas(state).refusal(job.request.team, gpus_asked(job.request, state.topology.usual_gpus))


def _quota_of(rows: dict[str, Quota], team: str) -> Quota | None:
    return rows.get(team) or rows.get(EVERY_OTHER)
