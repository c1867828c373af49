"""What teams use now, against their quotas, and their part in what was used lately."""

from __future__ import annotations

from collections import Counter

import msgspec

from clusters.domain.jobs import QUEUED
from clusters.domain.state import ClusterState
from clusters.domain.teams import EVERY_OTHER
from frontend.selectors.clusters import now_of
from scheduling.domain.quotas import Quotas


class TeamFacts(msgspec.Struct, frozen=True):
    """One team that has a quota, holds GPUs, or waits."""

    team: str  # "" for jobs that name none
    gpus: int  # held now, by jobs that are stopping too
    quota: int | None  # null: it may use all
    borrowed: int  # GPUs above its quota
    may_borrow: int | None  # at most, above its quota; null: all that others leave
    waiting: int  # jobs
    share: float  # of all that was used lately, from 0 to 1; 0 where past use does not count


def teams_list(state: ClusterState) -> list[TeamFacts]:
    """All teams, those that hold most first; the caller holds the state."""
    quotas = Quotas(state)
    half_life, now = state.policy.fair_share_half_life_h, now_of(state)
    spent = {team: use.spent_at(now, half_life) for team, use in state.usage.teams.items()}
    total = sum(spent.values())
    waiting = Counter(job.request.team for job in state.jobs.values() if job.state in QUEUED)
    names = {row.team for row in state.policy.quotas} - {EVERY_OTHER} | spent.keys() | waiting.keys()
    teams = []
    for name in names:
        gpus, row = state.usage.gpus(name), quotas.of(name)
        teams.append(
            TeamFacts(
                team=name,
                gpus=gpus,
                quota=row.gpus if row is not None else None,
                borrowed=max(0, gpus - row.gpus) if row is not None else 0,
                may_borrow=row.borrow if row is not None else None,
                waiting=waiting[name],
                share=spent.get(name, 0) / total if total else 0.0,
            )
        )
    return sorted(teams, key=lambda team: (-team.gpus, team.team))
