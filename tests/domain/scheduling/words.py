"""What a request may have, said again from its words and from nothing of the engine: sizes of slices, and conditions on where they lie.

It knows clusters as lists of drawn domains and placements as domains of slices. What it finds by trying every way is exact, and slow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, lcm

from clusters.domain.constraints import LevelMode
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.setting import SparesScope
from clusters.domain.space import Space
from clusters.domain.topology import Site, build_topology

GPUS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One domain as drawn: a letter for each node, the spares that slices there want, and whether exclusive work has closed it."""

    name: str
    rack: str
    block: str
    nodes: str  # f free, o free repeat offender, d free degraded, x in use, s two of four GPUs in use, u out and not in use
    wants: tuple[int | None, ...] = ()
    closed: bool = False

    @property
    def free(self) -> int:
        return sum(letter in "fod" for letter in self.nodes)

    @property
    def empty(self) -> bool:
        return not set(self.nodes) & set("xs")

    def group(self, level: str) -> str:
        return {"block": self.block, "rack": self.rack, "domain": self.name}[level]


Cluster = Sequence[Drawn]
#: One slice where it is placed: (domain, nodes).
Seat = tuple[Drawn, int]


def build(cluster: Cluster) -> Space:
    """The cluster as the engine knows it."""
    sites = [
        Site(name=f"{drawn.name}-n{node}", block=drawn.block, rack=drawn.rack, domain=drawn.name, gpus=GPUS)
        for drawn in cluster
        for node in range(1, len(drawn.nodes) + 1)
    ]
    space = Space(build_topology(sites))
    for drawn in cluster:
        domain = space.topology.domain_index[drawn.name]
        for node, letter in enumerate(drawn.nodes, 1):
            index = space.topology.index[f"{drawn.name}-n{node}"]
            space.set_placeable(index, placeable=letter != "u", degraded=letter == "d")
            if letter == "o":
                space.set_offender(index)
            if letter == "x":
                space.take(index)
            if letter == "s":
                space.take_gpus(index, 0b11)
        for spares in drawn.wants:
            space.add_want(domain, spares)
        space.closed |= drawn.closed << domain
    return space


def sizes_of(request: JobRequest, policy: Policy) -> list[int] | None:
    """The slices that the words ask for, in rank order; None where they contradict each other. Whole nodes only."""
    most = policy.slice_size or 0
    if request.parts:
        sizes = []
        for part in request.parts:
            cut = _cut(
                part.nodes, part.slice_size or request.slice_size or 1, min(most, part.max_slice or request.max_slice or most), request.tail
            )
            if cut is None:
                return None
            sizes += cut
        return sizes
    nodes = request.nodes or 0
    unit = request.slice_size or (lcm(request.plan.group, GPUS) // GPUS if request.plan else 1)
    if request.plan and (request.plan.gpus != nodes * GPUS or unit * GPUS % request.plan.group):
        return None
    most = min(most, request.max_slice or most)
    if not request.layers:
        return _cut(nodes, unit, most, request.tail)
    if nodes % request.layers[0].size and not request.tail:
        return None
    inner = request.layers[-1].size
    run, rest = _cut(inner, unit, most, tail=False), _cut(nodes % inner, unit, most, request.tail)
    return None if run is None or rest is None else run * (nodes // inner) + rest


def _cut(nodes: int, unit: int, most: int, tail: bool) -> list[int] | None:
    """As few slices as can be, that differ by at most one unit; what is left over is a tail."""
    if nodes % unit and not tail:
        return None
    units = nodes // unit
    count = ceil(units / (max(most, unit) // unit))
    sizes = [unit] * count
    for place in range(units - count):
        sizes[place % count] += unit
    return sizes + ([nodes % unit] if nodes % unit else [])


class Rules:
    """What one request may have in one cluster."""

    def __init__(self, cluster: Cluster, request: JobRequest, policy: Policy) -> None:
        nodes = request.nodes or 0
        self.cluster = cluster
        self.request = request
        self.policy = policy
        self.small = nodes < (policy.slice_size or 0)
        self.floor = policy.min_spares if nodes > 1 else 0

    def usable(self, drawn: Drawn) -> int:
        """Nodes of the domain that the request may have."""
        if drawn.closed or (self.request.exclusive and not drawn.empty):
            return 0
        return max(0, drawn.free - max(self.floor, self.owed(drawn) if self.small else 0))

    def owed(self, drawn: Drawn) -> int:
        wants = [self.policy.target_spares if want is None else want for want in drawn.wants]
        if self.policy.spares_scope is SparesScope.ALL:
            wants.append(self.policy.target_spares)
        return min(drawn.free, max(wants, default=0))

    def broken(self, seats: Sequence[Seat]) -> str:
        """The first condition that these seats, in rank order, break; "" for none. They may be the first of more."""
        used: dict[str, int] = {}
        for drawn, size in seats:
            used[drawn.name] = used.get(drawn.name, 0) + size
            if used[drawn.name] > self.usable(drawn):
                return f"{drawn.name} gives more than it may"
        for level, tied in self._ties(seats):
            if len({drawn.group(level) for drawn, _ in tied}) > 1:
                return f"slices that must lie in one {level} do not"
        return ""

    def _ties(self, seats: Sequence[Seat]) -> Iterator[tuple[str, list[Seat]]]:
        if self.request.mode is LevelMode.REQUIRED:
            yield self.request.level, list(seats)
        ends = list(accumulate(size for _, size in seats))
        first = 0
        for part in self.request.parts:
            mine = [seat for seat, end in zip(seats, ends, strict=True) if first < end <= first + part.nodes]
            first += part.nodes
            if part.mode is LevelMode.REQUIRED:
                yield part.level, mine
        for layer in self.request.layers:
            runs: dict[int, list[Seat]] = {}
            for seat, end in zip(seats, ends, strict=True):
                runs.setdefault((end - 1) // layer.size, []).append(seat)
                assert (end - seat[1]) // layer.size == (end - 1) // layer.size, "a slice lies in two runs"
            yield from ((layer.level, run) for run in runs.values())

    def feasible(self, sizes: Sequence[int]) -> bool:
        """Whether any way to place slices of these sizes breaks nothing."""
        return self._feasible(sizes, [])

    def _feasible(self, sizes: Sequence[int], seats: list[Seat]) -> bool:
        if len(seats) == len(sizes):
            return True
        return any(
            not self.broken([*seats, (drawn, sizes[len(seats)])]) and self._feasible(sizes, [*seats, (drawn, sizes[len(seats)])])
            for drawn in self.cluster
        )

    def has_gpus(self) -> bool:
        """Whether some node has the GPUs that a request below a node asks for."""
        gpus = self.request.gpus or 0
        open_ = [drawn for drawn in self.cluster if not drawn.closed and (drawn.empty or not self.request.exclusive)]
        shared = any("s" in drawn.nodes for drawn in open_) and gpus <= GPUS // 2
        return shared or any(drawn.free > self.owed(drawn) for drawn in open_)
