"""Spaces for placement tests, written as free nodes a domain, and an independent judge of what can be placed.

The judge knows nothing of masks, buckets or prices: it tries every way to put the slices into the domains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clusters.domain.decision import Refusal
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.space import Space
from clusters.domain.topology import Site, build_topology
from scheduling.domain.placement import place


def space_of(free: Mapping[str, int], *, size: int = 18, gpus: int = 4, blocks: Mapping[str, str] | None = None) -> Space:
    """Domains of `size` nodes, of which the first ones are in use and the last `free` are not."""
    sites = [
        Site(name=f"{domain}-n{node}", block=(blocks or {}).get(domain, "b1"), rack=domain, domain=domain, gpus=gpus)
        for domain in free
        for node in range(1, size + 1)
    ]
    space = Space(build_topology(sites))
    for index, site in enumerate(space.topology.nodes):
        space.set_placeable(index, placeable=True)
        if int(site.name.rpartition("-n")[2]) <= size - free[site.domain or ""]:
            space.take(index)
    return space


def want(space: Space, domain: str, spares: int | None = None) -> Space:
    """A slice of a multi-node job runs in the domain."""
    space.add_want(space.topology.domain_index[domain], spares)
    return space


def where(space: Space, request: JobRequest, policy: Policy | None = None) -> str:
    """The placement in short, e.g. "r1:16 r2:16", or the code of the refusal."""
    outcome = place(space, request, policy or Policy())
    if isinstance(outcome, Refusal):
        return outcome.code
    return " ".join(f"{part.domain}:{part.gpus or len(part.nodes)}" for part in outcome)


def can_pack(capacities: Sequence[int], sizes: Sequence[int]) -> bool:
    """Whether the slices fit, by trying everything."""
    if not sizes:
        return True
    return any(
        can_pack([*capacities[:place], capacity - sizes[0], *capacities[place + 1 :]], sizes[1:])
        for place, capacity in enumerate(capacities)
        if capacity >= sizes[0] and capacity not in capacities[:place]
    )
