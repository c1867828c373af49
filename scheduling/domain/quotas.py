"""Quotas of teams: what each may use, and what it may borrow of what the others leave.

A team's use is all GPUs that its jobs hold, those that are stopping included, and those placed earlier in the same pass. Only teams with a
row of their own lend: others come and go, and what they left would be lent without end. Teams without any quota may use all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

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
    """The most GPUs the team could ever have under the policy, its quota and all that others could lend it, if it asks for more."""
    quota = _quota_of({row.team: row for row in policy.quotas}, team)
    if quota is None:
        return None
    lent = sum(row.gpus for row in policy.quotas if row.team not in (team, EVERY_OTHER))
    most = quota.gpus + (lent if quota.borrow is None else min(lent, quota.borrow))
    return None if asked <= most else most


class Standing(NamedTuple):
    """What a team with a quota may have at one moment of a pass, in GPUs."""

    team: str
    quota: int
    used: int
    could_borrow: int

    @property
    def room(self) -> int:
        """The most that the team may get beside what it has."""
        return max(0, self.quota - self.used) + self.could_borrow

    def refusal(self, asked: int) -> Refusal:
        """That it may not have so many more."""
        counts: dict[str, int | str] = {
            "asked": asked,
            "could_borrow": self.could_borrow,
            "quota": self.quota,
            "team": self.team,
            "used": self.used,
        }
        return Refusal(code=QUOTA, counts=counts)


class Quotas:
    """The quotas as they are used up in the course of one pass.

    Where teams stand is worked out when it is first asked for, and again once something has been taken: most of a long queue ask in vain.
    """

    def __init__(self, state: ClusterState, given_back: Mapping[str, int] | None = None) -> None:
        self._rows = {row.team: row for row in state.policy.quotas}
        self._used = {team: use.gpus for team, use in state.usage.teams.items()} if self._rows else {}
        for team, gpus in (given_back or {}).items():
            self._used[team] = self._used.get(team, 0) - gpus
        self._left = sum(self._lends(team) for team in {*self._rows, *self._used} - {EVERY_OTHER})  # what is there to borrow
        self._standings: dict[str, tuple[Standing, int] | None] = {}  # with their room

    def of(self, team: str) -> Quota | None:
        """The quota that holds for the team; None = all."""
        return _quota_of(self._rows, team)

    def lenders(self) -> set[str]:
        """The teams that have a quota of their own, of which others may borrow."""
        return self._rows.keys() - {EVERY_OTHER}

    def used(self, team: str) -> int:
        """GPUs that the team has now. Counted only where there are quotas."""
        return self._used.get(team, 0)

    def take(self, team: str, gpus: int) -> None:
        """A job of the team has been placed."""
        if self._rows:
            self._left -= self._lends(team)
            self._used[team] = self.used(team) + gpus
            self._left += self._lends(team)
            self._standings.clear()

    def _lends(self, team: str) -> int:
        """GPUs of its quota that the team leaves to others; below 0: that it has borrowed."""
        quota = self.of(team)
        left = 0 if quota is None else quota.gpus - self.used(team)
        return left if team in self._rows else min(0, left)

    def is_within(self, team: str) -> bool:
        """Whether the team has a quota and no more than that: who borrows may not preempt its work, which would take it back at once."""
        quota = self.of(team)
        return quota is not None and self.used(team) <= quota.gpus

    def borrows(self, team: str, asked: int) -> bool:
        """Whether the team would have more than its quota with so many GPUs more."""
        known = self._standing(team)
        return known is not None and known[0].used + asked > known[0].quota

    def short(self, team: str, asked: int) -> Standing | None:
        """Where the team stands, if it may not have so many GPUs more now."""
        known = self._standing(team)
        return None if known is None or asked <= known[1] else known[0]

    def refusal(self, team: str, asked: int) -> Refusal | None:
        """Why the team may not have so many GPUs more now; None where it may."""
        short = self.short(team, asked)
        return None if short is None else short.refusal(asked)

    def _standing(self, team: str) -> tuple[Standing, int] | None:
        """None where the team may use all."""
        if not self._rows:
            return None
        if team not in self._standings:
            quota = self.of(team)
            if quota is None:
                self._standings[team] = None
            else:
                used = self.used(team)
                standing = Standing(team, quota.gpus, used, self._could_borrow(team, quota, used))
                self._standings[team] = standing, standing.room
        return self._standings[team]

    def _could_borrow(self, team: str, quota: Quota, used: int) -> int:
        """GPUs above its quota that the team could have beside those it has: within its limit, and of what others leave."""
        left = self._left - max(0, self._lends(team))  # what it has borrowed already is taken off
        return max(0, left if quota.borrow is None else min(left, quota.borrow - max(0, used - quota.gpus)))


def terms_now(state: ClusterState, job: Job, now: Instant) -> Refusal | None:
    """What keeps a waiting job from its turn, whatever room there is: other jobs, the time, its team's quota."""
    return terms_of(state, job.request, job.awaits, now)


def terms_of(state: ClusterState, request: JobRequest, awaits: Collection[str], now: Instant) -> Refusal | None:
    """The same for a request that comes after these jobs, which have not finished."""
    if awaits:
        return waits_for_jobs(awaits)
    start = request.not_before
    if start is not None and start > now:
        return waits_for_time(start)
    return Quotas(state).refusal(request.team, gpus_asked(request, state.topology.usual_gpus))


def _quota_of(rows: dict[str, Quota], team: str) -> Quota | None:
    return rows.get(team) or rows.get(EVERY_OTHER)
