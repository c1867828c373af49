"""Domains and the slices in them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from clusters.domain.books_of import domain_uses
from clusters.domain.errors import UnknownSubject
from clusters.domain.jobs import ACTIVE
from clusters.domain.state import ClusterState, Job
from clusters.domain.topology import natural_key
from scheduling.domain.single import largest_slice


class SliceHere(msgspec.Struct, frozen=True):
    """A slice in a domain."""

    job: str
    number: int
    state: str  # of the job
    nodes: int  # slots, those whose node was lost included


class DomainFacts(msgspec.Struct, frozen=True):
    """One domain."""

    name: str
    block: str
    racks: list[str]
    nodes: int
    free: int  # placeable and unused, owed spares included
    spares_owed: int  # of the free ones
    spares_target: int  # that it should have for the work in it
    largest_slice: int  # nodes of the largest slice that a job of a slice or more could get here now
    condition: dict[str, int]  # nodes, only what there is
    use: dict[str, int]  # nodes, only what there is
    slices: list[SliceHere]  # of active jobs


class SliceItem(msgspec.Struct, frozen=True):
    """One slice of an active job; null is a slot whose node was lost."""

    job: str
    name: str  # of the job
    number: int
    domain: str
    nodes: list[str | None]
    gpus: tuple[int, ...]  # of the only node, for work below a node; else empty
    generation: int  # of the job's assignment
    state: str  # of the job


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainFilter:
    """Which domains; "" and 0 mean all."""

    block: str = ""
    rack: str = ""
    fits: int = 0  # nodes of a slice that must have room now


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceFilter:
    """Which slices; "" means all."""

    job: str = ""
    domain: str = ""
    state: str = ""

    def takes(self, item: Job, domain: str) -> bool:
        """Whether the job's slice in a domain is one of these."""
        return self.job in ("", item.id) and self.domain in ("", domain) and self.state in ("", item.state.value)


Here = Mapping[str, list[SliceHere]]


def domains_from(state: ClusterState, chosen: DomainFilter, after: str) -> Iterator[DomainFacts]:
    """Domains in index order, from behind one of them; raises UnknownSubject. The caller holds the state."""
    topology = state.topology
    first = _index(state, after) + 1 if after else 0
    here = slices_here(state)
    for domain in range(first, len(topology.domains)):
        if topology.known[domain] and _takes(state, domain, chosen):
            yield _facts(state, domain, here)


def domain_get(state: ClusterState, name: str) -> DomainFacts:
    """One domain; raises UnknownSubject. The caller holds the state."""
    return _facts(state, _index(state, name), slices_here(state))


def slices_from(state: ClusterState, chosen: SliceFilter, after: tuple[int, int]) -> Iterator[SliceItem]:
    """Slices of active jobs, the oldest job first, from behind (position of the job, number). The caller holds the state."""
    for job in sorted(state.jobs.values(), key=lambda job: job.seq):
        if job.state not in ACTIVE or job.seq < after[0]:
            continue
        for number, part in enumerate(job.slices):
            if (job.seq, number) > after and chosen.takes(job, part.domain):
                yield SliceItem(job.id, job.request.name, number, part.domain, list(part.nodes), part.gpus, job.generation, job.state.value)


def slices_here(state: ClusterState) -> Here:
    """The slices of active jobs by domain."""
    here: defaultdict[str, list[SliceHere]] = defaultdict(list)
    for job in state.jobs.values():
        if job.state in ACTIVE:
            for number, part in enumerate(job.slices):
                here[part.domain].append(SliceHere(job.id, number, job.state.value, len(part.nodes)))
    return here


def _index(state: ClusterState, name: str) -> int:
    domain = state.topology.domain_index.get(name)
    if domain is None:
        raise UnknownSubject(f"there is no domain {name!r} in cluster {state.name}")
    return domain


def _takes(state: ClusterState, domain: int, chosen: DomainFilter) -> bool:
    in_place = chosen.block in ("", _block(state, domain)) and (not chosen.rack or chosen.rack in _racks(state, domain))
    return in_place and (not chosen.fits or largest_slice(state.space, domain, state.policy) >= chosen.fits)


def _block(state: ClusterState, domain: int) -> str:
    return state.topology.groups["block"][state.topology.block_of[domain]].name


def _racks(state: ClusterState, domain: int) -> list[str]:
    group = state.topology.domains[domain]
    sites = state.topology.nodes[group.first : group.first + group.size]
    return sorted({site.rack for site in sites}, key=natural_key)


def _facts(state: ClusterState, domain: int, here: Here) -> DomainFacts:
    space, group = state.space, state.topology.domains[domain]
    sites = state.topology.nodes[group.first : group.first + group.size]
    return DomainFacts(
        name=group.name,
        block=_block(state, domain),
        racks=_racks(state, domain),
        nodes=group.size,
        free=space.count[domain],
        spares_owed=space.owed(domain, state.policy),
        spares_target=space.target(domain, state.policy),
        largest_slice=largest_slice(space, domain, state.policy),
        condition=dict(Counter(state.nodes[site.name].condition.value for site in sites)),
        use=dict(Counter(use.value for use in domain_uses(state, domain))),
        slices=here.get(group.name, []),
    )
