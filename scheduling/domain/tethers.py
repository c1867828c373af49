"""What ties a slice that moves to the other slices of its job: levels and layers that are conditions hold for as long as the job runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from clusters.domain.constraints import LevelMode
from clusters.domain.slices import parts_of_slices
from clusters.domain.state import Job
from clusters.domain.topology import Topology
from scheduling.domain.levels import equivalent
from scheduling.domain.single import EVERYWHERE


def tether(topology: Topology, job: Job, number: int) -> int:
    """Mask of the domains that the slice may lie in beside the others, as they lie now. A group inside a domain lies in no other."""
    mask = EVERYWHERE
    for name, slices in _ties(job, number):
        level = equivalent(topology, name)
        for other in slices:
            domain = topology.domain_index.get(job.slices[other].domain)
            if other != number and domain is not None:
                mask &= topology.area(level, topology.group_of[level][domain]) if level in topology.group_of else 1 << domain
    return mask


def _ties(job: Job, number: int) -> Iterator[tuple[str, Sequence[int]]]:
    """(level, slices that must lie in one group of it), of those that the slice is one of."""
    request = job.request
    sizes = [len(part.nodes) for part in job.slices]
    if request.mode is LevelMode.REQUIRED:
        yield request.level, range(len(sizes))
    names = parts_of_slices(request, sizes)
    for part in request.parts:
        if part.mode is LevelMode.REQUIRED and part.name == names[number]:
            yield part.level, [other for other, name in enumerate(names) if name == part.name]
    firsts = [0, *accumulate(sizes)]
    for layer in request.layers:
        run = firsts[number] // layer.size
        yield layer.level, [other for other in range(len(sizes)) if firsts[other] // layer.size == run]
