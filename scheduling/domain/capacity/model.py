"""The usable nodes of a fleet of domains, in closed form.

A slice may not leave its domain, so a domain with A nodes available carries floor(A / s) slices of s. A is binomial where nodes fail
independently; `rho`, the correlation between two nodes of one domain, makes it beta-binomial; `whole_rack_share` takes that share of the
unavailability from outages of whole domains. Domains are independent of each other. Several sizes together mean that each domain is
filled best once it is known what it has ("18 where the rack is whole, else 16").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, exp, log

from clusters.domain.errors import InvalidRequest
from clusters.domain.setting import MAX_SLICE
from scheduling.domain.capacity.distribution import Distribution, Total, total_of

#: One slice size, or several that are chosen from once a domain's available nodes are known.
Sizes = tuple[int, ...]

#: Answers of `available` and `fill` that are kept: a search for break-evens and a chart ask for the same again and again.
KEPT = 2_048

#: Ten times the largest cluster that the product is measured at.
MAX_DOMAINS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Domains by size."""

    domains: tuple[tuple[int, int], ...]  # (nodes in a domain, how many such domains), by size

    @classmethod
    def uniform(cls, racks: int, nodes_per_rack: int) -> Fleet:
        """Racks of one size, each a domain; raises InvalidRequest."""
        _check_whole("racks", racks, 1, MAX_DOMAINS)
        _check_whole("nodes_per_rack", nodes_per_rack, 1, MAX_SLICE)
        return cls(domains=((nodes_per_rack, racks),))

    @classmethod
    def of(cls, sizes: Iterable[int]) -> Fleet:
        """From the size of each domain."""
        return cls(domains=tuple(sorted(Counter(sizes).items())))

    @property
    def nodes(self) -> int:
        """All nodes."""
        return sum(size * count for size, count in self.domains)

    @property
    def count(self) -> int:
        """All domains."""
        return sum(count for _, count in self.domains)

    @property
    def usual_size(self) -> int:
        """The size of the domain that most nodes are in; of equals the larger. 0 when there are none."""
        return max(self.domains, key=lambda group: (group[0] * group[1], group[0]), default=(0, 0))[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outages:
    """How nodes are unavailable."""

    unavailability: float  # share of node-time, 0 to 1
    rho: float = 0.0  # correlation between two nodes of a domain, whole-domain outages set aside, 0 to 1
    whole_rack_share: float = 0.0  # share of the unavailability that comes from outages of whole domains, 0 to 1

    def __post_init__(self) -> None:
        """Refuse what is no share; raises InvalidRequest."""
        for field in ("unavailability", "rho", "whole_rack_share"):
            value = getattr(self, field)
            if not 0 <= value <= 1:
                raise InvalidRequest(field, value, "give a share from 0 to 1, such as 0.02 for 2 %")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usable:
    """What slices of these sizes can use of a fleet."""

    sizes: Sizes
    total: Total  # usable nodes

    @property
    def mean(self) -> float:
        """Expected usable nodes."""
        return self.total.mean

    def nodes_with(self, confidence: float) -> int:
        """Usable nodes that may be promised with this confidence."""
        return self.total.at_least(confidence)

    def slices_with(self, confidence: float) -> int:
        """Slices that may be promised with this confidence; of several sizes, as few as could make up the nodes."""
        return -(-self.nodes_with(confidence) // max(self.sizes))


def usable(fleet: Fleet, sizes: Sizes, outages: Outages) -> Usable:
    """The distribution of the usable nodes; raises InvalidRequest."""
    check_sizes(sizes)
    return Usable(sizes=sizes, total=total_of([(domain_usable(size, sizes, outages), count) for size, count in fleet.domains]))


def expected(fleet: Fleet, sizes: Sizes, outages: Outages) -> float:
    """Expected usable nodes: domains x E[floor(A / s) x s]; what a chart asks for at each point."""
    check_sizes(sizes)
    return sum(
        count * sum(weight * best for weight, best in zip(available(size, outages), fill(size, sizes), strict=True))
        for size, count in fleet.domains
    )


def domain_usable(nodes: int, sizes: Sizes, outages: Outages) -> Distribution:
    """The usable nodes of one domain."""
    weights: dict[int, float] = {}
    for weight, best in zip(available(nodes, outages), fill(nodes, sizes), strict=True):
        weights[best] = weights.get(best, 0.0) + weight
    return Distribution.of(weights)


@lru_cache(maxsize=KEPT)
def available(nodes: int, outages: Outages) -> tuple[float, ...]:
    """Probability that 0, 1, ... `nodes` nodes of a domain are available."""
    whole = outages.unavailability * outages.whole_rack_share
    rest = (outages.unavailability - whole) / (1 - whole) if whole < 1 else 0.0
    weights = [(1 - whole) * weight for weight in beta_binomial(nodes, 1 - rest, outages.rho)]
    weights[0] += whole
    return tuple(weights)


def beta_binomial(nodes: int, up: float, rho: float) -> list[float]:
    """Probability of 0, 1, ... `nodes` successes, each with probability `up`, any two with correlation `rho`.

    As draws from Polya's urn: the chance of the next success is (up (1 - rho) + rho x successes so far) / (1 - rho + rho x draws so far).
    At rho = 0 that is the binomial, at 1 all or nothing. In logarithms, since the products leave the range of floats for wide domains.
    """
    if rho >= 1 or up <= 0 or up >= 1:
        return [1 - up, *[0.0] * (nodes - 1), up]
    good = _rising(nodes, up * (1 - rho), rho)
    bad = _rising(nodes, (1 - up) * (1 - rho), rho)
    all_draws = _rising(nodes, 1 - rho, rho)[nodes]
    return [exp(log(comb(nodes, k)) + good[k] + bad[nodes - k] - all_draws) for k in range(nodes + 1)]


def _rising(count: int, start: float, step: float) -> list[float]:
    """Logarithms of the products of the first 0, 1, ... `count` terms start, start + step, ..."""
    sums = [0.0]
    for number in range(count):
        sums.append(sums[-1] + log(start + step * number))
    return sums


@lru_cache(maxsize=KEPT)
def fill(nodes: int, sizes: Sizes) -> tuple[int, ...]:
    """The most nodes that slices of these sizes use of 0, 1, ... `nodes` available ones."""
    best = [0]
    for have in range(1, nodes + 1):
        best.append(max([best[-1], *(best[have - size] + size for size in sizes if size <= have)]))
    return tuple(best)


def after_failures(nodes: int, sizes: Sizes) -> tuple[int, ...]:
    """Usable nodes of one domain after 0, 1, ... `nodes` of its nodes have failed: what each failure costs."""
    check_sizes(sizes)
    return fill(nodes, sizes)[::-1]


def usable_now(domains: Iterable[tuple[int, int]], sizes: Sizes) -> int:
    """Nodes that slices can use now, given (nodes, available nodes) of each domain: the live point of a chart."""
    check_sizes(sizes)
    tables: dict[int, tuple[int, ...]] = {}
    return sum(tables.setdefault(nodes, fill(nodes, sizes))[have] for nodes, have in domains)


def check_sizes(sizes: Sequence[int]) -> None:
    """Refuse what is no slice size; raises InvalidRequest."""
    if not sizes:
        raise InvalidRequest("slices", tuple(sizes), "give at least one slice size, such as 16")
    for size in sizes:
        _check_whole("slices", size, 1, MAX_SLICE)


def _check_whole(field: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InvalidRequest(field, value, f"give a whole number from {low} to {high}")
