"""Taking back what a team has borrowed: work of borrowers makes room for a job that waits within its team's quota.

Nothing is evicted unless the job provably starts in the freed space: that has been tried on a fork, by the same placement. The space is
kept for the job from then on, so that nothing else takes it while the evicted work stops. Who gives: restartable work of teams that
have more than their quotas, and only while they have. Which of it: the least work lost, domain by domain and over all of them, found by
taking what costs least until the job fits and giving back what it turns out not to need. Ties end in ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass

from clusters.domain.decision import Refusal
from clusters.domain.disruption import age_of_work
from clusters.domain.events import Payload
from clusters.domain.exclusive import closed_by
from clusters.domain.ids import HOUR, Duration
from clusters.domain.job_events import AfterStop, JobPreempted, StopRequested
from clusters.domain.jobs import ACTIVE, JobKind
from clusters.domain.policy import Policy
from clusters.domain.reservations import is_claim
from clusters.domain.space_events import SpaceReserved
from clusters.domain.state import ClusterState, Job, wanting_slices
from scheduling.domain.placement import Placement
from scheduling.domain.quotas import Quotas
from scheduling.domain.stopping import stop_work
from scheduling.domain.trial import Trial

#: Placements that one search may try: it ends within milliseconds, with the best it has found.
MOST_TRIED = 256
#: So long the space is kept for the job: evicted work has stopped long before, or something is wrong.
CLAIM = HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """A job that may have to give its nodes back."""

    job: Job
    gpus: int
    lost: Duration  # GPU-time to be done again

    @property
    def price(self) -> tuple[Duration, int]:
        """By what it is chosen: work lost, then the order of the log."""
        return self.lost, self.job.seq


def may_be_preempted(policy: Policy, job: Job) -> bool:
    """Whether the job may be stopped to make room for another."""
    interactive = job.request.kind is JobKind.INTERACTIVE and not policy.interactive_preemptible
    return job.state in ACTIVE and job.request.restartable and not interactive


def reclaim(trial: Trial, quotas: Quotas, job: Job, asked: int) -> list[Payload]:
    """What gives the job's team its quota back: the space kept for the job, and the work that leaves it. Empty where nothing does."""
    team = job.request.team
    if quotas.of(team) is None or quotas.borrows(team, asked) or is_claim(trial.kept.get(job.id)):
        return []
    victims = _borrowed(trial, quotas)
    plan = _cheapest(trial, quotas, job, victims) if victims else None
    if plan is None:
        return []
    chosen, placement = plan
    nodes = tuple(name for part in placement for name in part.nodes)
    reason = f"team {team} takes back what others borrowed"
    claim = SpaceReserved(job=job.id, nodes=nodes, starts_at=trial.now, expires_at=trial.now + CLAIM, reason=reason)
    events: list[Payload] = [claim]
    for victim in chosen:
        events += evict(trial.state, victim.job, job, reason)
    trial.keep(claim)
    return events


def release(trial: Trial, job: Job) -> None:
    """The space of the trial as it is once the job has left its nodes."""
    space, topology = trial.space, trial.topology
    for number in wanting_slices(job):
        domain = topology.domain_index.get(job.slices[number].domain)
        if domain is not None:
            space.drop_want(domain, job.request.spares)
    masks: dict[int, int] = {}
    for name in job.held_nodes:
        node = trial.state.nodes[name]
        index = topology.index[name]
        if node.job == job.id:
            domain, bit = space.locate(index)
            masks[domain] = masks.get(domain, 0) | bit
        else:
            space.give_gpus(index, node.shares[job.id])
    for domain, mask in masks.items():
        space.give_mask(domain, mask)
    space.closed &= ~closed_by(trial.state, job, topology)
    trial.forget_views()


def _borrowed(trial: Trial, quotas: Quotas) -> list[Victim]:
    """Work that may be taken from teams beyond their quotas, the cheapest first."""
    state = trial.state
    over = {team for team, use in state.usage.teams.items() if (row := quotas.of(team)) is not None and use.gpus > row.gpus}
    if not over:
        return []
    victims = [
        Victim(job=job, gpus=(gpus := gpus_held(state, job)), lost=gpus * age_of_work(job, trial.now))
        for job in state.jobs.values()
        if job.request.team in over and may_be_preempted(trial.policy, job) and job.id not in trial.stopping
    ]
    return sorted(victims, key=lambda victim: victim.price)


def gpus_held(state: ClusterState, job: Job) -> int:
    """GPUs of the nodes that the job holds."""
    nodes = (state.nodes[name] for name in job.held_nodes)
    return sum(node.gpus if node.job == job.id else node.shares[job.id].bit_count() for node in nodes)


def _cheapest(trial: Trial, quotas: Quotas, job: Job, victims: Sequence[Victim]) -> tuple[list[Victim], Placement] | None:
    """The victims that cost least, and where the job then runs."""
    search = _Search(trial, quotas, job)
    found = [plan for group in _groups(victims) if (plan := search.fit(group)) is not None]
    return min(found, key=lambda plan: (_price(plan[0]), [victim.job.seq for victim in plan[0]]), default=None)


def _price(victims: Iterable[Victim]) -> Duration:
    return sum(victim.lost for victim in victims)


def _groups(victims: Sequence[Victim]) -> list[list[Victim]]:
    """Those in each domain, cheapest domain first, and then all together."""
    domains: dict[str, list[Victim]] = {}
    for victim in victims:
        for domain in {part.domain for part in victim.job.slices}:
            domains.setdefault(domain, []).append(victim)
    groups = sorted(domains.items(), key=lambda item: (_price(item[1]), item[0]))
    return [*(group for _, group in groups), list(victims)]


class _Search:
    """Tries on forks of one trial."""

    def __init__(self, trial: Trial, quotas: Quotas, job: Job) -> None:
        self._trial = trial
        self._quotas = quotas
        self._job = job
        self._tried = 0

    def fit(self, group: Sequence[Victim]) -> tuple[list[Victim], Placement] | None:
        """Victims of the group, none of them needless, and where the job runs without them."""
        chosen: list[Victim] = []
        for victim in group:
            if not self._gives([*chosen, victim]):
                continue
            chosen.append(victim)
            placement = self._place(chosen)
            if placement is not None:
                return self._fewer(chosen, placement)
        return None

    def _fewer(self, chosen: list[Victim], placement: Placement) -> tuple[list[Victim], Placement]:
        for victim in sorted(chosen, key=lambda victim: victim.price, reverse=True):
            rest = [other for other in chosen if other is not victim]
            without = self._place(rest)
            if without is not None:
                chosen, placement = rest, without
        return chosen, placement

    def _gives(self, victims: Sequence[Victim]) -> bool:
        """Whether each of these teams had more than its quota before the last of its jobs was taken."""
        taken: Counter[str] = Counter()
        for victim in victims:
            team = victim.job.request.team
            row = self._quotas.of(team)
            if row is None or self._quotas.used(team) - taken[team] <= row.gpus:
                return False
            taken[team] += victim.gpus
        return True

    def _place(self, victims: Iterable[Victim]) -> Placement | None:
        if self._tried == MOST_TRIED:
            return None
        self._tried += 1
        twin = copy(self._trial)
        twin.space = self._trial.space.fork()
        for victim in victims:
            release(twin, victim.job)
        outcome = twin.place(self._job.request, self._job)
        return None if isinstance(outcome, Refusal) else outcome


def evict(state: ClusterState, victim: Job, claimant: Job, reason: str) -> list[Payload]:
    """The victim leaves its nodes to the claimant, and waits again once its work has stopped."""
    stop = StopRequested(
        job=victim.id,
        generation=victim.generation,
        nodes=tuple(sorted(victim.held_nodes)),
        after=AfterStop.WAITING,
        reason=f"makes room for job {claimant.id}",
    )
    preempted = JobPreempted(job=victim.id, generation=victim.generation, by=claimant.id, reason=reason)
    return [preempted, *stop_work(state, stop)]
