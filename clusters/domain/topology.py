"""The static shape of a cluster: ordered levels ending in node, each group of each level a contiguous range of dense node indexes.

Built anew for each generation of the inventory and shared read-only. Sizes come from the inventory, never from a constant. `domain` is
always a level (slices may not leave it); `rack` is one where racks and domains nest: above it, or below it where a domain spans racks.
A node whose domain is unknown gets a range of its own that is never placeable.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where one node is."""

    name: str
    block: str
    rack: str
    domain: str | None
    gpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One block, rack or domain: nodes `first` to `first + size - 1`."""

    name: str
    first: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Node and domain indexes of one inventory generation."""

    levels: tuple[str, ...]  # outermost first, the last is "node"
    nodes: tuple[Site, ...]  # by node index
    index: Mapping[str, int]  # node name -> node index
    groups: Mapping[str, tuple[Group, ...]]  # level -> its groups in index order
    domains: tuple[Group, ...]  # by domain index
    known: tuple[bool, ...]  # by domain index: may slices be placed there at all
    domain_of: tuple[int, ...]  # node index -> domain index
    block_of: tuple[int, ...]  # domain index -> block index
    group_of: Mapping[str, tuple[int, ...]]  # level that holds whole domains -> domain index -> group index, never falling
    domain_index: Mapping[str, int]  # domain name -> domain index, known ones only
    outer: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]  # (group_of, area of each group) of levels above the domain, innermost first
    usual_size: int  # nodes of the most common kind of domain, weighted by nodes; 0 when empty
    usual_gpus: int  # GPUs of the most common kind of node; 0 when empty

    def area(self, level: str, group: int) -> int:
        """Mask of the domains in one group of a level that holds whole domains: they lie side by side."""
        return _area(self.group_of[level], group)


NaturalKey = tuple[tuple[tuple[int, int, str], ...], str]


def natural_key(name: str) -> NaturalKey:
    """Sort key that puts r2 before r10; total, since it ends in the text itself."""
    parts = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in _DIGITS.split(name) if part)
    return parts, name


def build_topology(sites: Iterable[Site]) -> Topology:
    """Index the nodes; the order of `sites` does not matter."""
    placed = list(sites)
    levels = _levels(placed)
    block_of_domain = _blocks_of_domains(placed)
    ordered = sorted(placed, key=lambda site: _order(site, levels, block_of_domain))
    domain_groups = _group(ordered, _domain_key)
    domains = tuple(Group(name=site.domain or "", first=first, size=size) for site, first, size in domain_groups)
    groups = {"domain": domains, "block": _named(ordered, lambda site: block_of_domain[_domain_key(site)])}
    if "rack" in levels:
        groups["rack"] = _named(ordered, lambda site: site.rack)
    group_of = {level: _by_domain(groups[level], domains) for level in levels[: levels.index("domain") + 1]}
    return Topology(
        levels=levels,
        nodes=tuple(ordered),
        index={site.name: number for number, site in enumerate(ordered)},
        groups=groups,
        domains=domains,
        known=tuple(bool(domain.name) for domain in domains),
        domain_of=tuple(number for number, domain in enumerate(domains) for _ in range(domain.size)),
        block_of=group_of["block"],
        group_of=group_of,
        outer=tuple(_outer(group_of)),
        domain_index={domain.name: number for number, domain in enumerate(domains) if domain.name},
        usual_size=_usual((domain.size for domain in domains if domain.name), weighted=True),
        usual_gpus=_usual((site.gpus for site in ordered if site.domain), weighted=False),
    )


def _domain_key(site: Site) -> tuple[str, str]:
    return (site.domain, "") if site.domain else ("", site.name)


def _levels(sites: Sequence[Site]) -> tuple[str, ...]:
    racks: dict[tuple[str, str], set[str]] = defaultdict(set)
    domains: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for site in sites:
        racks[_domain_key(site)].add(site.rack)
        domains[site.rack].add(_domain_key(site))
    if all(len(names) == 1 for names in racks.values()):
        return ("block", "rack", "domain", "node")
    if all(len(names) == 1 for names in domains.values()):
        return ("block", "domain", "rack", "node")
    return ("block", "domain", "node")


def _blocks_of_domains(sites: Sequence[Site]) -> dict[tuple[str, str], str]:
    """A domain over racks of two blocks belongs to the first of them by name."""
    blocks: dict[tuple[str, str], str] = {}
    for site in sites:
        key = _domain_key(site)
        blocks[key] = min(blocks.get(key, site.block), site.block, key=natural_key)
    return blocks


def _order(
    site: Site, levels: tuple[str, ...], block_of_domain: Mapping[tuple[str, str], str]
) -> tuple[NaturalKey, NaturalKey, NaturalKey, NaturalKey]:
    domain = natural_key(site.domain) if site.domain else (((2, 0, site.name),), site.name)
    rack = natural_key(site.rack)
    outer, inner = (rack, domain) if levels[1] == "rack" else (domain, rack)
    return natural_key(block_of_domain[_domain_key(site)]), outer, inner, natural_key(site.name)


def _group(sites: Sequence[Site], key: Callable[[Site], object]) -> list[tuple[Site, int, int]]:
    """(first member, first index, size) of each run of equal keys."""
    groups: list[tuple[Site, int, int]] = []
    first = 0
    for _, members in groupby(sites, key=key):
        listed = list(members)
        groups.append((listed[0], first, len(listed)))
        first += len(listed)
    return groups


def _named(sites: Sequence[Site], key: Callable[[Site], str]) -> tuple[Group, ...]:
    return tuple(Group(name=key(site), first=first, size=size) for site, first, size in _group(sites, key))


def _by_domain(groups: Sequence[Group], domains: Sequence[Group]) -> tuple[int, ...]:
    firsts = [group.first for group in groups]
    return tuple(bisect_right(firsts, domain.first) - 1 for domain in domains)


def _outer(group_of: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The levels whose groups hold more than one domain somewhere."""
    for groups in reversed(tuple(group_of.values())):
        count = groups[-1] + 1 if groups else 0
        if count < len(groups):
            yield groups, tuple(_area(groups, group) for group in range(count))


def _area(groups: tuple[int, ...], group: int) -> int:
    return (1 << bisect_right(groups, group)) - (1 << bisect_left(groups, group))


def _usual(sizes: Iterable[int], *, weighted: bool) -> int:
    """The most common size (by nodes where weighted); of equals the larger."""
    counts: Counter[int] = Counter()
    for size in sizes:
        counts[size] += size if weighted else 1
    return max(counts, key=lambda size: (counts[size], size), default=0)
