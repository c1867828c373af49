"""The dense state that placement works on: one Python int mask per domain, and domains in buckets by how many nodes they have free.

Bit b of a domain's mask is the domain's node `domains[d].first + b`. A fork costs a few list copies, so a what-if, or a pass that places
many jobs, works on its own space and disturbs nobody. `stamp[d]` is the position of the last event that touched domain d.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from clusters.domain.ids import Instant
from clusters.domain.policy import Policy
from clusters.domain.setting import SparesScope
from clusters.domain.topology import Topology
from clusters.domain.totals import Totals


class Space:
    """What is free where. All masks are by domain index."""

    __slots__ = (
        "at",
        "buckets",
        "closed",
        "count",
        "degraded",
        "failures",
        "free",
        "gpu_free",
        "offenders",
        "outer",
        "owing",
        "placeable",
        "reserved",
        "stamp",
        "topology",
        "used",
        "wants",
    )

    #: What follows from who holds what and how the nodes are, and so can be built anew and compared.
    COMPARED = (
        "placeable",
        "used",
        "free",
        "count",
        "degraded",
        "offenders",
        "reserved",
        "wants",
        "owing",
        "buckets",
        "gpu_free",
        "closed",
        "failures",
        "outer",
    )

    def __init__(self, topology: Topology) -> None:
        size = len(topology.domains)
        self.topology = topology
        self.at = 0  # position given to stamps
        self.placeable = [0] * size  # may take new work
        self.used = [0] * size  # some GPU is in use
        self.free = [0] * size  # placeable and not used: owed spares included
        self.count = [0] * size  # bits of free
        self.degraded = [0] * size
        self.offenders = [0] * size  # nodes that failed as often as the policy says
        self.reserved = [0] * size  # kept for a job that waits; who may use them meanwhile is the scheduler's matter
        self.stamp = [0] * size
        self.wants: list[tuple[int | None, ...]] = [()] * size  # spares that each multi-node slice there asks for (None: policy)
        self.owing: dict[int | None, int] = {}  # spares asked for -> mask over domains in which some slice asks for so many
        self.gpu_free: dict[int, int] = {}  # node index -> mask of free GPUs, only nodes shared by GPU jobs
        self.closed = 0  # mask over domains in which exclusive work runs: none of other jobs may enter
        self.failures: list[tuple[Instant, int]] = []  # (when a node last failed, domain), sorted; never changed in place
        widest = max((domain.size for domain in topology.domains), default=0)
        self.buckets = [0] * (widest + 1)  # free count -> mask over domains
        self.buckets[0] = (1 << size) - 1
        self.outer = [Totals(*counted) for counted in topology.outer]  # free nodes by rack and block, the innermost level first

    def fork(self) -> Space:
        """An independent copy; costs O(domains) list copies."""
        twin = object.__new__(Space)
        twin.topology = self.topology
        twin.at = self.at
        for name in ("placeable", "used", "free", "count", "degraded", "offenders", "reserved", "stamp", "buckets", "wants", "owing"):
            setattr(twin, name, getattr(self, name).copy())
        twin.gpu_free = self.gpu_free.copy()
        twin.outer = [totals.copy() for totals in self.outer]
        twin.closed = self.closed
        twin.failures = self.failures
        return twin

    def set_placeable(self, node: int, placeable: bool, *, degraded: bool = False) -> None:
        """Record whether the node may take new work, and whether at less than full strength."""
        domain, bit = self.locate(node)
        self.placeable[domain] = _with(self.placeable[domain], bit, placeable)
        self.degraded[domain] = _with(self.degraded[domain], bit, degraded)
        self._refresh(domain)

    def set_offender(self, node: int) -> None:
        """Record that the node is a repeat offender."""
        domain, bit = self.locate(node)
        self.offenders[domain] |= bit

    def note_failure(self, node: int, at: Instant) -> None:
        """Record that the node failed then; of a domain's failures the last counts, whatever order they are reported in."""
        domain = self.topology.domain_of[node]
        self.failures = last_failures([*self.failures, (at, domain)])
        self._touch(domain)

    def failed_since(self, since: Instant) -> int:
        """Mask of the domains in which a node has failed after that instant."""
        mask = 0
        for _, domain in self.failures[bisect_right(self.failures, (since, len(self.count))) :]:
            mask |= 1 << domain
        return mask

    def reserve(self, node: int, *, on: bool = True) -> None:
        """Record that the node is kept for a waiting job, or no longer."""
        domain, bit = self.locate(node)
        self.reserved[domain] = _with(self.reserved[domain], bit, on)
        self._touch(domain)

    def take(self, node: int) -> None:
        """The whole node is in use."""
        self.take_mask(*self.locate(node))

    def take_mask(self, domain: int, mask: int) -> None:
        """These nodes of the domain are in use."""
        self.used[domain] |= mask
        self._refresh(domain)

    def give_mask(self, domain: int, mask: int) -> None:
        """These nodes of the domain are no longer in use."""
        self.used[domain] &= ~mask
        self._refresh(domain)

    def take_gpus(self, node: int, gpus: int) -> None:
        """Some GPUs (a mask) of the node are in use."""
        self.gpu_free[node] = self.gpus_left(node) & ~gpus
        self.take(node)

    def give_gpus(self, node: int, gpus: int) -> None:
        """Some GPUs (a mask) of the node are free again; the node is free once all are."""
        left = self.gpus_left(node) | gpus
        if left == (1 << self.topology.nodes[node].gpus) - 1:
            self.gpu_free.pop(node, None)
            self.give_mask(*self.locate(node))
        else:
            self.gpu_free[node] = left
            self._touch(self.topology.domain_of[node])

    def gpus_left(self, node: int) -> int:
        """Mask of the node's free GPUs, as far as GPU jobs go."""
        return self.gpu_free.get(node, (1 << self.topology.nodes[node].gpus) - 1)

    def add_want(self, domain: int, spares: int | None) -> None:
        """A slice of a multi-node job runs in the domain and wants so many spares there (None: as the policy says)."""
        self.wants[domain] += (spares,)
        self.owing[spares] = self.owing.get(spares, 0) | 1 << domain
        self._touch(domain)

    def drop_want(self, domain: int, spares: int | None) -> None:
        """Such a slice has gone."""
        wants = list(self.wants[domain])
        wants.remove(spares)
        self.wants[domain] = tuple(wants)
        if spares not in wants:
            left = self.owing.pop(spares) & ~(1 << domain)
            if left:
                self.owing[spares] = left
        self._touch(domain)

    def owed(self, domain: int, policy: Policy) -> int:
        """Spares the domain owes now: at most what it has free."""
        return min(self.target(domain, policy), self.count[domain])

    def target(self, domain: int, policy: Policy) -> int:
        """Spares the domain should have, whether it can or not."""
        wanted = max((policy.target_spares if want is None else want for want in self.wants[domain]), default=0)
        return max(wanted, policy.target_spares) if policy.spares_scope is SparesScope.ALL else wanted

    def locate(self, node: int) -> tuple[int, int]:
        """The node's domain and its bit in that domain's masks."""
        domain = self.topology.domain_of[node]
        return domain, 1 << (node - self.topology.domains[domain].first)

    def _refresh(self, domain: int) -> None:
        self._touch(domain)
        free = self.placeable[domain] & ~self.used[domain]
        if free == self.free[domain]:
            return
        mark = 1 << domain
        self.buckets[self.count[domain]] &= ~mark
        self.free[domain] = free
        count = free.bit_count()
        for totals in self.outer:
            totals.add(domain, count - self.count[domain])
        self.count[domain] = count
        self.buckets[self.count[domain]] |= mark

    def _touch(self, domain: int) -> None:
        self.stamp[domain] = self.at


def _with(mask: int, bit: int, on: bool) -> int:
    return mask | bit if on else mask & ~bit


def last_failures(found: Iterable[tuple[Instant | None, int]]) -> list[tuple[Instant, int]]:
    """The last failure of each domain, for (when, domain) of some, sorted."""
    last: dict[int, Instant] = {}
    for at, domain in found:
        if at is not None and at > last.get(domain, at - 1):
            last[domain] = at
    return sorted((at, domain) for domain, at in last.items())
