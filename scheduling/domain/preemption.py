"""Preemption: work makes room for a job that waits within its team's quota, or that has a higher priority.

Nothing is evicted unless the job provably starts in the freed space: that has been tried on a fork, by the same placement. The space is
kept for the job from then on, so that nothing else takes it while the evicted work stops.

Who gives: restartable work, for a quota of teams that have more than theirs, and only while they have; for priority of lower points than
the job, or of the same once it has run for the cool-down, as the policy says; before all others probes, whatever it says. Exempt teams,
and work that was disturbed of late, are left alone for priority. Which of it: what the planner names, else the least work lost, domain by
domain and over all of them, found by taking what costs least until the job fits. What turns out not to be needed is given back. Ties end
in ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from clusters.domain.decision import Refusal
from clusters.domain.defrag import PlanStatus
from clusters.domain.disruption import age_of_work
from clusters.domain.events import Payload
from clusters.domain.ids import SECOND, Duration
from clusters.domain.job_events import AfterStop, JobPreempted, StopRequested
from clusters.domain.jobs import ACTIVE, JobKind
from clusters.domain.policy import Policy
from clusters.domain.reservations import is_claim
from clusters.domain.setting import Preemption
from clusters.domain.space_events import SpaceReserved
from clusters.domain.state import ClusterState, Job
from scheduling.domain.defrag_terms import terms_for
from scheduling.domain.placement import Placement
from scheduling.domain.planned_evictions import planned_victims
from scheduling.domain.quotas import Quotas
from scheduling.domain.recovery import recover_short
from scheduling.domain.releasing import CLAIM, release
from scheduling.domain.stopping import stop_work
from scheduling.domain.trial import Trial
from scheduling.domain.views import points_of

#: Placements that one search may try: it ends within milliseconds, with the best it has found.
MOST_TRIED = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """A job that may have to give its nodes back."""

    job: Job
    gpus: int
    lost: Duration  # GPU-time to be done again

    @property
    def is_probe(self) -> bool:
        """Whether it yields to all other work."""
        return self.job.request.kind is JobKind.PROBE

    @property
    def price(self) -> tuple[Duration, int]:
        """By what it is chosen: work lost, then the order of the log."""
        return self.lost, self.job.seq


#: Whether so many may be taken together.
Gives = Callable[[Sequence[Victim]], bool]


def may_be_preempted(policy: Policy, job: Job) -> bool:
    """Whether the job may be stopped to make room for another."""
    if job.request.kind is JobKind.PROBE:
        return job.state in ACTIVE
    interactive = job.request.kind is JobKind.INTERACTIVE and not policy.interactive_preemptible
    return job.state in ACTIVE and job.request.restartable and not interactive


def reclaim(trial: Trial, quotas: Quotas, job: Job, asked: int) -> list[Payload]:
    """What gives the job's team its quota back: the space kept for the job, and the work that leaves it. Empty where nothing does."""
    team = job.request.team
    if quotas.of(team) is None or quotas.borrows(team, asked) or is_claim(trial.kept.get(job.id)):
        return []
    return _make_room(trial, job, _borrowed(trial, quotas), _Give(quotas).gives, f"team {team} takes back what others borrowed")


def preempt(trial: Trial, job: Job, candidates: Sequence[Victim]) -> list[Payload]:
    """What a job of higher priority takes: the space kept for it, and the work that leaves it. Empty where nothing does."""
    if is_claim(trial.kept.get(job.id)):
        return []
    if job.request.kind is JobKind.PROBE:
        return []
    victims = [victim for victim in candidates if victim.job.id not in trial.stopping and _yields(trial, victim.job, job)]
    probes = [victim for victim in victims if victim.is_probe]
    found = _make_room(trial, job, probes, lambda _: True, "probes yield to all other work")
    if found or len(probes) == len(victims):
        return found
    return _make_room(trial, job, victims, lambda _: True, f"job {job.id} has a higher priority")


def candidates_for_priority(trial: Trial) -> list[Victim]:
    """Work that may have to make room for a higher priority, the cheapest first: probes, and what else the policy allows."""
    if trial.policy.preemption is Preemption.OFF:
        return _victims(trial, lambda job: job.request.kind is JobKind.PROBE)
    terms = terms_for(trial.state, trial.now)

    def among(job: Job) -> bool:
        return job.request.kind is JobKind.PROBE or (job.request.team not in terms.exempt and job.id not in terms.cooling)

    return _victims(trial, among)


def _yields(trial: Trial, victim: Job, job: Job) -> bool:
    """Whether the work has so low a priority that it makes room for the job."""
    if victim.request.kind is JobKind.PROBE:
        return True
    above = points_of(trial.policy, job.request, job) - points_of(trial.policy, victim.request, victim)
    if above or trial.policy.preemption is Preemption.LOWER:
        return above > 0
    return victim.started_at is not None and trial.now - victim.started_at >= trial.policy.defrag_cooldown_s * SECOND


def _make_room(trial: Trial, job: Job, victims: Sequence[Victim], gives: Gives, reason: str) -> list[Payload]:
    plan = _cheapest(trial, job, victims, gives) if victims else None
    if plan is None:
        return []
    chosen, placement = plan
    nodes = tuple(name for part in placement for name in part.nodes)
    claim = SpaceReserved(job=job.id, nodes=nodes, starts_at=trial.now, expires_at=trial.now + CLAIM, reason=reason)
    events: list[Payload] = [claim]
    for victim in chosen:
        events += evict(trial.state, victim.job, job, reason)
    trial.keep(claim)
    return events


def _borrowed(trial: Trial, quotas: Quotas) -> list[Victim]:
    """Work that may be taken from teams beyond their quotas, the cheapest first."""
    state = trial.state
    over = {team for team, use in state.usage.teams.items() if use.gpus and (row := quotas.of(team)) is not None and use.gpus > row.gpus}
    if not over:
        return []
    return _victims(trial, lambda job: job.request.team in over)


def _victims(trial: Trial, among: Callable[[Job], bool]) -> list[Victim]:
    """Of that work what may be stopped, the cheapest first."""
    state = trial.state
    busy = trial.stopping | trial.moved | state.lost | in_running_plans(state)
    victims = [
        Victim(job=job, gpus=(gpus := gpus_held(state, job)), lost=gpus * age_of_work(job, trial.now))
        for job in state.holders.values()
        if among(job) and may_be_preempted(trial.policy, job) and job.id not in busy
    ]
    return sorted(victims, key=lambda victim: victim.price)


def gpus_held(state: ClusterState, job: Job) -> int:
    """GPUs of the nodes that the job holds."""
    nodes = (state.nodes[name] for name in job.held_nodes)
    return sum(node.gpus if node.job == job.id else node.shares[job.id].bit_count() for node in nodes)


def in_running_plans(state: ClusterState) -> set[str]:
    """Jobs that plans move now. Like those that lack nodes, they may have got others earlier in the same decision."""
    return {move.job for known in state.defrag.values() if known.status is PlanStatus.RUNNING for move in known.plan.moves}


def _cheapest(trial: Trial, job: Job, victims: Sequence[Victim], gives: Gives) -> tuple[list[Victim], Placement] | None:
    """The victims that cost least, and where the job then runs."""
    search = _Search(trial, job, gives)
    named = set(planned_victims(trial, job, frozenset(victim.job.id for victim in victims)))
    planned = search.prove([victim for victim in victims if victim.job.id in named]) if named else None
    if planned is not None:
        return planned
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


class _Give:
    """What borrowers may be asked for."""

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas

    def gives(self, victims: Sequence[Victim]) -> bool:
        """Whether each of these teams had more than its quota before the last of its jobs was taken."""
        taken: Counter[str] = Counter()
        for victim in victims:
            team = victim.job.request.team
            row = self._quotas.of(team)
            if row is None or self._quotas.used(team) - taken[team] <= row.gpus:
                return False
            taken[team] += victim.gpus
        return True


class _Search:
    """Tries on forks of one trial."""

    def __init__(self, trial: Trial, job: Job, gives: Gives) -> None:
        self._trial = trial
        self._job = job
        self._gives = gives
        self._tried = 0

    def prove(self, chosen: list[Victim]) -> tuple[list[Victim], Placement] | None:
        """These victims but needless ones, and where the job runs without them; None where they may not give so much, or do not help."""
        placement = self._place(chosen) if self._gives(chosen) else None
        return None if placement is None else self._fewer(chosen, placement)

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

    def _place(self, victims: Iterable[Victim]) -> Placement | None:
        if self._tried == MOST_TRIED:
            return None
        self._tried += 1
        twin = self._trial.fork()
        for victim in victims:
            release(twin, victim.job)
            twin.stopping.add(victim.job.id)
        if twin.short:  # slices that lack nodes are served first, from all that is freed
            for job in twin.state.holders.values():
                if job.holders_stop:
                    release(twin, job)
            recover_short(twin)
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
