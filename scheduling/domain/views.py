"""Who may use which free nodes: a request's view of the space.

Some free nodes are not for everybody. Those kept for a waiting job are, until it is to start, for work that has ended by then; those of a
rack before its maintenance likewise. So requests see different spaces: each closure of nodes either binds a request or does not, and there
is one fork of the space for each set of closures that binds some request, made when it is first asked for and kept in step from then on.

A reservation binds all but its own job, work that ends in time, and jobs that have more points and their turn before it. A claim, made for
a job by others' leaving, binds whoever does not end in time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from clusters.domain.ids import Instant
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.reservations import Reservation
from clusters.domain.setting import Backfill
from clusters.domain.space import Space
from clusters.domain.state import ClusterState, Job
from clusters.domain.teams import class_of
from scheduling.domain.limits import LAUNCH, STOP, ends_by, run_time
from scheduling.domain.nodes import bits

#: Nodes as masks by domain index.
Masks = Mapping[int, int]


@dataclass(slots=True, kw_only=True)
class Closure:
    """Nodes that are only for work that has ended by `until`."""

    bit: int  # of its own in masks of closures
    until: Instant
    masks: Masks
    job: Job | None  # the job that they are kept for; None: a rack is closed, or whole domains are kept for nobody yet
    points: int | None  # jobs that have more, and their turn before the job, are not bound; None: all are
    passed: bool = False  # the job's turn has come


class Views:
    """The spaces that requests see, and the closures that they follow from."""

    def __init__(self, state: ClusterState, space: Space, now: Instant) -> None:
        self.base = space
        self._now = now
        self._policy = state.policy
        self._closures: list[Closure] = []
        self._kept: dict[str, Closure] = {}  # by the job
        self._spaces: dict[int, Space] = {0: space}
        self._known: dict[tuple[Instant | None, int], int] = {}  # (end, points) -> mask of the closures that bind
        self._next = 1

    # ---- closures

    def keep(self, reservation: Reservation, job: Job | None) -> None:
        """Nodes are kept for a job, in place of any that were before, if the policy has it so; a claim may be for nobody yet."""
        self.drop(reservation.job)
        if not is_in_force(reservation, self._policy):
            return
        points = None if reservation.expires_at is not None or job is None else points_of(self._policy, job.request, job)
        masks = masks_of(self.base, reservation.nodes)
        if job is not None and job.request.exclusive:  # its domains are to hold nothing else
            masks = {domain: (1 << self.base.topology.domains[domain].size) - 1 for domain in masks}
        self._kept[reservation.job] = self._close(Closure(bit=self._next, until=reservation.starts_at, masks=masks, job=job, points=points))

    def close_rack(self, until: Instant, nodes: Iterable[str]) -> None:
        """These nodes are only for work that ends in time."""
        self._close(Closure(bit=self._next, until=until, masks=masks_of(self.base, nodes), job=None, points=None))

    def drop(self, job: str) -> None:
        """Nothing is kept for the job any more."""
        closure = self._kept.pop(job, None)
        if closure is not None:
            self._closures.remove(closure)
            self._known.clear()

    def pass_by(self, job: str) -> None:
        """The job's turn has come, and it waits on: what is kept for it binds all that come after."""
        closure = self._kept.get(job)
        if closure is not None and not closure.passed:
            closure.passed = True
            self._known.clear()

    def _close(self, closure: Closure) -> Closure:
        self._closures.append(closure)
        self._next <<= 1
        self._known.clear()
        return closure

    # ---- what binds whom

    def closed_to(self, request: JobRequest, job: Job | None) -> int:
        """Mask of the closures that bind a request that would start now: a job's, one in place of a job's, or that of nobody yet (None)."""
        if not self._closures:
            return 0
        end = ends_by(request, self._now)
        if job is not None and request is job.request and job.id in self._kept:  # others' promises count on this end, too
            end = self._now + LAUNCH + run_time(request, self._policy) + STOP
        key = (end, points_of(self._policy, request, job))
        mask = self._known.get(key)
        if mask is None:
            mask = sum(closure.bit for closure in self._binding(key[1]) if key[0] is None or closure.until < key[0])
            self._known[key] = mask
        return mask & ~self.kept_for(job)

    def closed_for_good(self, job: Job, *, behind: bool = True) -> int:
        """Mask of the closures that bind the job's start at times to come, however long it runs.

        Without those `behind` it: of jobs with as many points, whose turn comes later.
        """
        points = points_of(self._policy, job.request, job) + (not behind)
        return sum(closure.bit for closure in self._binding(points)) & ~self.kept_for(job)

    def racks_closed_to(self, request: JobRequest) -> int:
        """Mask of the closed racks that bind a request, and of nothing else: for work that runs, and needs other nodes."""
        end = ends_by(request, self._now)
        return sum(closure.bit for closure in self._closures if closure.job is None and (end is None or closure.until < end))

    def closures(self, mask: int) -> Iterator[Closure]:
        """The closures of a mask."""
        return (closure for closure in self._closures if closure.bit & mask)

    def _binding(self, points: int) -> Iterator[Closure]:
        return (closure for closure in self._closures if closure.passed or closure.points is None or points <= closure.points)

    def kept_for(self, job: Job | None) -> int:
        """Mask of the closure of what is kept for the job."""
        closure = self._kept.get(job.id) if job is not None else None
        return 0 if closure is None else closure.bit

    # ---- spaces

    def space(self, mask: int) -> Space:
        """The space without the nodes of these closures. It is kept in step: fork it to change it."""
        known = self._spaces.get(mask)
        if known is None:
            known = self._spaces[mask] = self.base.fork()
            for closure in self.closures(mask):
                shut(known, closure.masks)
        return known

    def take_mask(self, domain: int, mask: int) -> None:
        """These nodes of the domain are in use, in all views."""
        for space in self._spaces.values():
            space.take_mask(domain, mask)

    def take_gpus(self, node: int, gpus: int) -> None:
        """Some GPUs of the node are in use, in all views that show it."""
        domain, bit = self.base.locate(node)
        for space in self._spaces.values():
            if node in space.gpu_free or not space.used[domain] & bit:
                space.take_gpus(node, gpus)

    def add_want(self, domain: int, spares: int | None) -> None:
        """A slice of a job on several nodes runs in the domain, in all views."""
        for space in self._spaces.values():
            space.add_want(domain, spares)

    def close_domain(self, domain: int) -> None:
        """Work that shares its domain with no other runs there, in all views."""
        for space in self._spaces.values():
            space.closed |= 1 << domain

    def open_domain(self, domain: int) -> None:
        """Such work has left it, in all views."""
        for space in self._spaces.values():
            space.closed &= ~(1 << domain)

    def drop_want(self, domain: int, spares: int | None) -> None:
        """Such a slice has gone."""
        for space in self._spaces.values():
            space.drop_want(domain, spares)


def is_in_force(reservation: Reservation, policy: Policy) -> bool:
    """Whether the reservation binds others: a claim always does."""
    return reservation.expires_at is not None or policy.backfill is not Backfill.OFF


def points_of(policy: Policy, request: JobRequest, job: Job | None) -> int:
    """The points of the request, its wait and its team apart."""
    return class_of(policy.classes, request.priority_class).priority + (request.priority if job is None else job.priority)


def shut(space: Space, masks: Masks) -> None:
    """Nobody gets these nodes in this space."""
    for domain, mask in masks.items():
        first = space.topology.domains[domain].first
        for bit in bits(mask & space.used[domain]) if space.gpu_free else ():
            space.gpu_free.pop(first + bit, None)
        space.take_mask(domain, mask)


def masks_of(space: Space, nodes: Iterable[str]) -> dict[int, int]:
    """The nodes that the inventory still has, as masks."""
    topology = space.topology
    index_of, domain_of, domains = topology.index, topology.domain_of, topology.domains
    masks: dict[int, int] = {}
    for name in nodes:
        index = index_of.get(name)
        if index is not None:
            domain = domain_of[index]
            masks[domain] = masks.get(domain, 0) | 1 << index - domains[domain].first
    return masks
