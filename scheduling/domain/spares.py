"""Spares against target: what each domain should keep, what it has, and what would restore one that has too few.

Nothing here moves anything. A repaired node is a spare again by the books alone: the last owed free nodes of a domain are its spares, so
one more free node is one more spare until the target is met. Lent ones are given back when they are
needed, so they are not missing.

For a domain below target, `restore` looks for the restartable work whose moving costs least: one slice, what shares a node, or several
jobs on one node or less together. The price is the GPU-time since each job's last checkpoint, as the books would charge it. Every move is
proven: on a fork of the space the work is taken away, placed outside the domain as placement would, and the domain then has its spares,
while no other domain is further below its target than before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clusters.domain.decision import Refusal
from clusters.domain.ids import Duration, Instant
from clusters.domain.job_events import SliceAssignment
from clusters.domain.policy import Policy
from clusters.domain.space import Space
from clusters.domain.state import ClusterState
from scheduling.domain.lost_work import rolled_back
from scheduling.domain.moving import Work, frees, movable_groups, names_of, price, take_away, work_by_domain
from scheduling.domain.placement import place_shape
from scheduling.domain.shape import slice_shape
from scheduling.domain.tethers import tether
from scheduling.domain.trial import Trial

#: Proofs tried in one look at a cluster, a fraction of a millisecond each: it must not keep the pass waiting.
MOST_PROOFS = 48
#: Of these, for one domain.
MOST_TRIES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainSpares:
    """One domain that should have spares."""

    domain: str
    target: int  # nodes it should keep free
    present: int  # of these, nodes that are free, or lent

    @property
    def missing(self) -> int:
        """What it lacks."""
        return self.target - self.present


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One slice, or part of a node, that would run elsewhere."""

    job: str
    slice: int
    nodes: tuple[str, ...]  # that it has now
    to: SliceAssignment  # that it would get
    cost: Duration  # GPU-time that would be done again


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoration:
    """What would bring a domain back to its target, or why nothing would."""

    domain: str
    moves: tuple[Move, ...] = ()
    reason: str = ""  # why there are none

    @property
    def cost(self) -> Duration:
        """GPU-time that would be done again."""
        return sum(move.cost for move in self.moves)


def domain_spares(state: ClusterState) -> list[DomainSpares]:
    """Every domain that should have spares, in index order."""
    found: list[DomainSpares] = []
    lent = Counter(state.nodes[name].domain for name in state.lent)
    for domain, group in enumerate(state.topology.domains):
        target = state.space.target(domain, state.policy) if state.topology.known[domain] else 0
        if target:
            found.append(DomainSpares(domain=group.name, target=target, present=min(target, state.space.count[domain] + lent[group.name])))
    return found


def restorations(state: ClusterState, now: Instant, proofs: int = MOST_PROOFS) -> list[Restoration]:
    """For each domain below target, the one that lacks most first, what would restore it; fewer where the proofs run out."""
    below = sorted((spares for spares in domain_spares(state) if spares.missing), key=lambda spares: -spares.missing)
    work = work_by_domain(state) if below else {}
    found: list[Restoration] = []
    for spares in below:
        if proofs <= 0:
            break
        tries = min(proofs, MOST_TRIES)
        restoration, used = restore(state, spares, work.get(spares.domain, []), now, tries)
        proofs -= used
        found.append(restoration)
    return found


def restore(state: ClusterState, spares: DomainSpares, work: Sequence[Work], now: Instant, tries: int) -> tuple[Restoration, int]:
    """The cheapest moves that a proof bears out, and how many proofs that took."""
    groups = list(movable_groups(state, spares.domain, work))
    if not groups:
        return Restoration(domain=spares.domain, reason="no restartable work runs in it"), 0
    groups.sort(key=lambda group: (price(state, group, now), names_of(group)))
    options = sorted(_options(state, spares, groups), key=lambda option: (price(state, option, now), names_of(option)))
    for number, option in enumerate(options[:tries], 1):
        places = _prove(Trial(state, now), spares.domain, option)
        if places is not None:
            moves = tuple(_move(state, work, place, now) for work, place in zip(option, places, strict=True))
            return Restoration(domain=spares.domain, moves=moves), number
    return Restoration(domain=spares.domain, reason="its restartable work has no other place now"), min(tries, len(options))


# ---- what could move


def _options(state: ClusterState, spares: DomainSpares, groups: Sequence[list[Work]]) -> Iterator[list[Work]]:
    """Each group that may suffice alone, and of the others as many together as suffice, in the order given: the cheapest first."""
    small: list[list[Work]] = []
    for group in groups:
        if frees(state, group) >= spares.missing or group[0][0].width > 1:
            yield group
        else:
            small.append(group)
    together: list[Work] = []
    for group in small:
        together += group
        if frees(state, together) >= spares.missing:
            yield together
            return


# ---- whether it would do


def _prove(trial: Trial, domain: str, group: Sequence[Work]) -> list[SliceAssignment] | None:
    """Where the work would run; None unless all of it has a place and the domain then has its spares, at nobody's cost."""
    space, policy, topology = trial.space, trial.policy, trial.topology
    index = topology.domain_index[domain]
    for job, number in group:
        take_away(trial, index, job, number)
    places: list[SliceAssignment] = []
    for job, number in group:
        shape = slice_shape(topology, job.request, policy, len(job.slices[number].nodes))
        outcome = place_shape(space, shape, policy, (tether(topology, job, number) & ~(1 << index) & ~trial.shut_to(job.request),))
        if isinstance(outcome, Refusal):
            return None
        trial.take_slice(outcome[0])
        if job.width > 1:
            space.add_want(topology.domain_index[outcome[0].domain], job.request.spares)
        places.append(outcome[0])
    homes = {topology.domain_index[place.domain] for place in places}
    worse = any(_missing(space, home, policy) > _missing(trial.state.space, home, policy) for home in homes)
    return None if worse or _missing(space, index, policy) else places


def _missing(space: Space, domain: int, policy: Policy) -> int:
    return space.target(domain, policy) - space.owed(domain, policy)


def _move(state: ClusterState, work: Work, place: SliceAssignment, now: Instant) -> Move:
    job, number = work
    nodes = tuple(name for name in job.slices[number].nodes if name is not None)
    return Move(job=job.id, slice=number, nodes=nodes, to=place, cost=rolled_back(state, job, number, now))
