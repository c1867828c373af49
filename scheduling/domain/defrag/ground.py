"""Reading a state for a plan: units and their owners, and what each domain has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from operator import attrgetter

from clusters.domain.slices import cluster_slice, domain_slice, is_small, whole_nodes
from clusters.domain.state import Job
from scheduling.domain.defrag.kept import kept_from
from scheduling.domain.defrag.model import Domain, Owner, Unit
from scheduling.domain.defrag.victims import Victims
from scheduling.domain.tethers import tether
from scheduling.domain.trial import Trial


class Ground:
    """Units, owners and pinned work of one state."""

    def __init__(self, trial: Trial, victims: Victims, job: Job | None, *, pins: bool = True) -> None:
        self.units: list[Unit] = []
        self.owners: list[Owner] = []
        self._trial = trial
        self._victims = victims
        self._moves = victims.terms.moves
        self._pins = pins  # whether it is asked what stays, and why
        self._open = sum(1 << index for index, known in enumerate(trial.topology.known) if known) & ~trial.space.closed
        self._claims = claims_of_others(trial, job)
        self._kept = kept_for_others(trial, job)
        self._pinned: defaultdict[int, list[tuple[str, int, str]]] = defaultdict(list)
        self._frees: defaultdict[int, int] = defaultdict(int)
        self._size = cluster_slice(trial.topology, trial.policy)

    def read(self, *, may_wait: bool, below: bool) -> None:
        """Look at all work, jobs in the order of the log."""
        for name, claimant in self._claims.items():
            self._pinned[self._home(name)].append((claimant, 1, "it is promised nodes there"))
        nodes = self._trial.state.nodes
        shared: defaultdict[str, list[Job]] = defaultdict(list)
        for job in sorted(self._work(), key=attrgetter("seq")):
            whole = job.held_nodes if job.width > 1 else [name for name in job.held_nodes if nodes[name].job == job.id]
            if len(whole) < len(job.held_nodes):
                for name in job.held_nodes.keys() - set(whole):
                    shared[name].append(job)
            if why := self._victims.why_not(job):
                self._pin(job, whole, why)
            elif whole:
                self._add(job, may_wait=may_wait and self._victims.may_wait(job, below=below))
        for name in sorted(shared, key=self._trial.topology.index.__getitem__):
            self._share(name, shared[name], may_wait=may_wait, below=below)

    def _work(self) -> Iterable[Job]:
        """All work, or what of it may be disturbed at most, where nobody asks for the rest."""
        state, among = self._trial.state, self._victims.terms.victims
        if self._pins or among is None:
            return state.holders.values()
        return (state.holders[name] for name in among if name in state.holders)

    def domain(self, index: int, *, use_spares: bool, spares: int, floor: int) -> Domain:
        """What the domain has for others, and for the job with its spares."""
        space, policy = self._trial.space, self._trial.policy
        group = self._trial.topology.domains[index]
        free = (space.free[index] & ~self._kept.get(index, 0)).bit_count()
        owed = space.target(index, policy)
        keep = max(owed, min(policy.target_spares, group.size - domain_slice(group.size, policy)))
        small_keep = owed if use_spares else keep
        keep = policy.min_spares if use_spares else keep
        unplaceable = group.size - (space.placeable[index] | space.used[index]).bit_count()
        return Domain(
            name=group.name,
            free=free,
            slack=max(0, free - keep),
            small_slack=max(0, free - max(keep, small_keep)),
            most=free + self._frees[index],
            spares=spares,
            floor=floor,
            pinned=tuple(self._pinned[index]),
            out=unplaceable,
        )

    def _pin(self, job: Job, names: Collection[str], why: str) -> None:
        if not self._pins:
            return
        counts: defaultdict[int, int] = defaultdict(int)
        for name in names:
            counts[self._home(name)] += 1
        for domain, nodes in counts.items():
            self._pinned[domain].append((job.id, nodes, why))

    def _add(self, job: Job, *, may_wait: bool) -> None:
        prices = self._victims.prices(job)
        first = len(self.units)
        owner = len(self.owners)
        small = is_small(whole_nodes(job.request, self._trial.topology.usual_gpus), self._size)
        for number, part in enumerate(job.slices):
            names = [name for name in part.nodes if name is not None]
            domain = self._trial.topology.domain_index[part.domain]
            allowed = self._allowed(job, number, domain)
            if not allowed and not may_wait:
                self._pinned[domain].append((job.id, len(names), "it is bound to where it is"))
                continue
            self._unit(
                Unit(
                    pieces=((job.id, number),),
                    owner=owner,
                    domain=domain,
                    size=len(names),
                    frees=self._placeable(names),
                    cost=prices.own[number],
                    allowed=allowed,
                    small=small,
                )
            )
        wait = prices.wait if may_wait else None
        self.owners.append(Owner(jobs=(job.id,), units=tuple(range(first, len(self.units))), shared=prices.shared, wait=wait))

    def _allowed(self, job: Job, number: int, domain: int) -> int:
        """Mask of the domains that the slice may move to."""
        if job.request.exclusive or not self._moves:
            return 0
        return tether(self._trial.topology, job, number) & self._open & ~(1 << domain) & ~self._trial.shut_to(job.request)

    def _share(self, name: str, jobs: list[Job], *, may_wait: bool, below: bool) -> None:
        """Work on parts of one node: all of it moves, or none."""
        domain = self._home(name)
        if len(jobs) < len(self._trial.state.nodes[name].shares):
            return  # some of it is none of those who may be disturbed
        stays = [(job, why) for job in jobs if (why := self._victims.why_not(job))]
        if stays:
            self._pinned[domain].append((stays[0][0].id, 1, stays[0][1]))
            return
        wait = None
        if may_wait and all(self._victims.may_wait(job, below=below) for job in jobs):
            wait = sum(self._victims.prices(job).wait for job in jobs)
        names = tuple(job.id for job in jobs)
        self.owners.append(Owner(jobs=names, units=(len(self.units),), shared=0, wait=wait))
        stuck = not self._moves or any(job.request.exclusive for job in jobs)
        closed = 0
        for job in jobs:
            closed |= self._trial.shut_to(job.request)
        self._unit(
            Unit(
                pieces=tuple((job.id, 0) for job in jobs),
                owner=len(self.owners) - 1,
                domain=domain,
                size=1,
                frees=self._placeable([name]),
                cost=sum(self._victims.prices(job).own[0] for job in jobs),
                allowed=0 if stuck else self._open & ~(1 << domain) & ~closed,
                small=True,
            )
        )

    def _unit(self, unit: Unit) -> None:
        self.units.append(unit)
        self._frees[unit.domain] += unit.frees

    def _placeable(self, names: list[str]) -> int:
        """Nodes that serve others once they are free: not those that are failing, drained, or kept for another job."""
        return sum(self._trial.state.nodes[name].placeable and name not in self._claims for name in names)

    def _home(self, name: str) -> int:
        topology = self._trial.topology
        return topology.domain_of[topology.index[name]]


def claims_of_others(trial: Trial, job: Job | None) -> dict[str, str]:
    """Nodes that are reserved for other jobs, and for which."""
    others = kept_from(trial.state, "" if job is None else job.id)
    return {name: claim.job for claim in others for name in claim.nodes if name in trial.topology.index}


def kept_for_others(trial: Trial, job: Job | None) -> dict[int, int]:
    """The same by domain, as masks of its nodes."""
    kept: dict[int, int] = {}
    for name in claims_of_others(trial, job):
        domain, bit = trial.space.locate(trial.topology.index[name])
        kept[domain] = kept.get(domain, 0) | bit
    return kept
