"""The question that a plan answers, as plain data: what is free where, what could move at which cost, and what has to fit.

Everything is counted in nodes by domain (dense indexes of the topology); which nodes they are is decided when the plan is written
(`plan.plan_of`). The data is frozen and pickles, so that a solver may work on it in another process.

Three things make the question smaller than the world. They are conditions, and the words of a plan say so where they matter:

- A slice that moves stays within the levels and layers of its job as the job's other slices lie now.
- What shares a node moves together, onto one free node.
- A job that has the layers or parts of several groups gets all its slices inside one group of the innermost of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from clusters.domain.defrag import PlanAim, Rival
from clusters.domain.ids import Instant

#: Work that starts again stands still for so long: processes, memory and the fabric are set up anew.
RESTART_S = 120
#: So long a job that has to wait is taken to stand still. Nobody knows how long it will be; an hour makes a move the better choice.
WAIT_S = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the policy allows a plan to do."""

    exempt: frozenset[str] = frozenset()  # teams whose work is left alone
    cooling: frozenset[str] = frozenset()  # jobs that were moved of late
    most_moves: int | None = None  # workloads that may move or wait; None = any number
    restart_s: int = RESTART_S
    wait_s: int = WAIT_S
    higher: bool = False  # whether work of higher priority than the job may move
    victims: frozenset[str] | None = None  # jobs that may be disturbed; None = all that the rest allows
    moves: bool = True  # whether slices may move; without it jobs may only wait, and why the rest stays is not told


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What moves together: one slice, or all that shares a node."""

    pieces: tuple[tuple[str, int], ...]  # (job, slice)
    owner: int  # index into the problem's owners
    domain: int  # that it is in
    size: int  # nodes that it needs elsewhere
    frees: int  # nodes that are free once it has gone: those that are failing or drained are not
    cost: int  # weighted GPU-seconds of its move, beside what its owner pays once
    allowed: int  # mask of the domains that it may move to, its own not among them
    small: bool  # work below a slice: owed spares are not for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A job with units that may move, or the jobs that share a node."""

    jobs: tuple[str, ...]
    units: tuple[int, ...]
    shared: int  # weighted GPU-seconds that are paid once, if any of its units moves
    wait: int | None  # weighted GPU-seconds if all of it waits instead; None where that is not allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One domain."""

    name: str
    free: int  # nodes free now, those kept for others not counted
    slack: int  # of these, nodes that moved work may take
    small_slack: int  # the same where work below a slice comes: it leaves alone what the domain owes
    most: int  # nodes free once all that may move has left
    spares: int  # that should stay free beside the slices of the job
    floor: int  # that must
    pinned: tuple[tuple[str, int, str], ...]  # (job, nodes, why it stays)
    out: int  # other nodes that nothing can be placed on


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way in which a domain can serve: so many slices of each size, for which so many nodes must be free."""

    counts: tuple[int, ...]  # by place in `Problem.sizes`
    need: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The whole question."""

    aim: PlanAim
    job: str  # that room is made for; "" for whole domains
    sizes: tuple[int, ...]  # distinct sizes of slices, larger first; () with `whole`
    counts: tuple[int, ...]  # how many slices there are of each; with `whole` one number, of domains
    whole: bool  # domains have to be empty: an operator asked for them, or the job is exclusive
    spared: bool  # whether spares are asked for beside the slices
    targets: int  # mask of the domains that may serve
    areas: tuple[int, ...]  # all that serve lie in one of these masks; () = anywhere
    domains: tuple[Domain, ...]  # by index
    units: tuple[Unit, ...]
    owners: tuple[Owner, ...]
    most_moves: int | None
    terms: Terms
    narrowed: str  # what was asked of the plan beyond what the job asks, in words; "" = nothing
    at_seq: int
    at: Instant

    def ways(self, domain: int) -> tuple[Way, ...]:
        """How the domain could serve if all that may move left it, with fewest slices first; none where it cannot."""
        if not self.targets >> domain & 1:
            return ()
        here = self.domains[domain]
        if self.whole and (here.pinned or not here.most):
            return ()
        if self.whole and not self.sizes:
            return (Way(counts=(1,), need=here.most),)
        room = here.most - here.floor
        ranges = [range(min(count, room // size) + 1) for size, count in zip(self.sizes, self.counts, strict=True)]
        found: list[Way] = []
        for counts in product(*ranges):
            nodes = sum(size * count for size, count in zip(self.sizes, counts, strict=True))
            if 0 < nodes <= room:
                found.append(Way(counts=counts, need=here.most if self.whole else self._need(here, nodes)))
        return tuple(sorted(found, key=lambda way: (way.need, way.counts)))

    def _need(self, here: Domain, nodes: int) -> int:
        return min(nodes + max(here.spares if self.spared else 0, here.floor), here.most)

    def without_spares(self) -> Problem | None:
        """The cheaper question: the slices alone. None where it is the same one."""
        return replace(self, spared=False) if self.spared and self.sizes and not self.whole else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """Which units go where, in an order in which each finds its place free; which owners wait; which domains then serve."""

    moves: tuple[tuple[int, int], ...]  # (unit, domain)
    waits: tuple[int, ...]  # owners
    targets: tuple[tuple[int, Way], ...]  # domains and what they hold, by index
    cost: int  # weighted GPU-seconds
    bound: int
    solver: str
    status: str
    seconds: float = 0.0
    slice_only: int | None = None
    rivals: tuple[Rival, ...] = ()


def cost_of(problem: Problem, moved: tuple[int, ...], waits: tuple[int, ...]) -> int:
    """Weighted GPU-seconds of units that move and owners that wait."""
    owners = {problem.units[unit].owner for unit in moved}
    waiting = sum(problem.owners[owner].wait or 0 for owner in waits)
    return sum(problem.units[unit].cost for unit in moved) + sum(problem.owners[owner].shared for owner in owners) + waiting


def workloads(problem: Problem, moved: tuple[int, ...], waits: tuple[int, ...]) -> tuple[int, int]:
    """(jobs that are disturbed, nodes that they leave): what is fewer is better of two plans that cost the same."""
    units = {*moved, *(unit for owner in waits for unit in problem.owners[owner].units)}
    jobs = {job for unit in units for job, _ in problem.units[unit].pieces}
    return len(jobs), sum(problem.units[unit].size for unit in units)
