"""What it costs at least to find a place: the second lemma, by which bounds see the chains of moves behind the first one.

**Lemma.** Let a charge for each size be such that in every domain what leaves it, each unit at its own price and its charge, comes to no
less than the charges of all that comes to it. Then any plan costs no less than the sum, over the domains that serve, of what must leave
them with its charges, less the charges of what comes to them: all that moves leaves one domain and comes to one, so charges cancel out over
all domains, and the domains that do not serve add nothing below zero.

The charge of a size is the size times a rate: the least, over all domains and all numbers of nodes from that size on that may come to them,
of the price of what has to leave for them by the node. A set that comes to a domain is as large as its largest unit, so its charges are
covered. Rates grow from round to round, since what leaves is charged too; each round's are valid by the one before. Work that may wait is
not charged, since it may not need a place.

So with a plan of cost C at hand: where what leaves a domain that does not serve, a certain unit among it, comes to so much more than the
charges of all that can come to it then, that with the bound of the domains that serve it is C or more, the unit does not leave in a cheaper
plan; and likewise for a unit of a certain size that comes (`Surplus`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scheduling.domain.defrag.bounds import NEVER, Least, Offer, by_domain, whole_cost
from scheduling.domain.defrag.model import Problem

ROUNDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Charges:
    """The charge of each size, and for each domain the rate from each size on."""

    by_size: tuple[float, ...]
    rates: tuple[tuple[float, ...], ...]  # domain -> size -> price by the node of what has to leave; inf where it cannot hold so many


def charge(problem: Problem) -> Charges:
    """The charges after some rounds."""
    units = by_domain(problem)
    widest = max((unit.size for unit in problem.units), default=0)
    by_size: tuple[float, ...] = (0.0,) * (widest + 1)
    rates: list[tuple[float, ...]] = []
    for _ in range(ROUNDS):
        rates = [_rates(problem, index, units[index], by_size) for index in range(len(units))]
        least = [min((rate[size] for rate in rates), default=0.0) for size in range(widest + 1)]
        before, by_size = by_size, tuple(size * rate if rate < NEVER else NEVER for size, rate in enumerate(least))
        if by_size == before:
            break
    return Charges(by_size=by_size, rates=tuple(rates))


def price(problem: Problem, number: int, by_size: Sequence[float]) -> float:
    """What a unit that leaves adds to its domain's side at least."""
    unit = problem.units[number]
    return unit.cost + (by_size[unit.size] if problem.owners[unit.owner].wait is None else 0.0)


def sharpen(problem: Problem, offers: Sequence[Offer], charges: Charges) -> tuple[Offer, ...]:
    """The offers with bounds by this lemma too, the cheapest first; without those that cannot be."""
    units = by_domain(problem)
    tables: dict[int, list[float]] = {}
    found: list[Offer] = []
    for offer in offers:
        if offer.domain not in tables:
            tables[offer.domain] = _least(problem, units[offer.domain], charges.by_size)
        bound = _bound(problem, offer, units[offer.domain], tables[offer.domain], charges.by_size)
        if bound < NEVER:
            found.append(replace(offer, charged=bound, bound=max(offer.own, whole_cost(bound))))
    found.sort(key=lambda offer: (offer.bound, -sum(offer.way.counts), offer.domain))
    return tuple(found)


def least_charged(problem: Problem, offers: Sequence[Offer]) -> float:
    """What any plan costs at least by this lemma alone, whatever offers are taken."""
    return Least(offers, lambda offer: offer.charged).of(sum(problem.counts))


def _bound(problem: Problem, offer: Offer, units: Sequence[int], table: Sequence[float], by_size: Sequence[float]) -> float:
    if problem.whole:
        return sum(price(problem, unit, by_size) for unit in units)
    need = max(0, offer.way.need - problem.domains[offer.domain].free)
    if need >= len(table):
        return NEVER
    widest = len(by_size) - 1
    coming = range(len(table) - need)  # nodes that may come to the domain while it serves
    return min(table[need + nodes] - (by_size[min(nodes, widest)] / min(nodes, widest) * nodes if nodes else 0.0) for nodes in coming)


def _least(problem: Problem, units: Sequence[int], by_size: Sequence[float]) -> list[float]:
    """Nodes -> the least price of units that free so many."""
    most = sum(problem.units[unit].frees for unit in units)
    best = [0.0] + [float(NEVER)] * most
    for unit in units:
        cost, frees = price(problem, unit, by_size), problem.units[unit].frees
        for wanted in range(most, 0, -1):
            other = best[wanted - frees if wanted > frees else 0] + cost
            if other < best[wanted]:
                best[wanted] = other
    return best


def _rates(problem: Problem, index: int, units: Sequence[int], by_size: Sequence[float]) -> tuple[float, ...]:
    """Size -> the least price by the node when so many nodes or more come to the domain."""
    slack = problem.domains[index].slack
    table = _least(problem, units, by_size)
    found = [float(NEVER)] * len(by_size)
    best = float(NEVER)
    for nodes in range(len(table) - 1 + slack, 0, -1):
        best = min(best, 0.0 if nodes <= slack else table[nodes - slack] / nodes)
        if nodes < len(found):
            found[nodes] = best
    found[0] = 0.0
    return tuple(found)


class Surplus:
    """What domains that do not serve add to the bound at least, if a certain unit leaves, or one of a certain size comes."""

    def __init__(self, problem: Problem, charges: Charges) -> None:
        self._problem = problem
        self._by_size = charges.by_size
        self._units = by_domain(problem)
        most = max((domain.slack + domain.most - domain.free for domain in problem.domains), default=0)
        self._charged = _most_charged(charges.by_size, most)
        self._tables: dict[int, list[float]] = {}

    def leaves(self, number: int) -> float:
        """If the unit leaves."""
        unit = self._problem.units[number]
        here = self._problem.domains[unit.domain]
        others = _least(self._problem, [other for other in self._units[unit.domain] if other != number], self._by_size)
        first = here.slack + unit.frees
        least = min(cost - self._charged[min(first + nodes, len(self._charged) - 1)] for nodes, cost in enumerate(others))
        return max(0.0, price(self._problem, number, self._by_size) + least)

    def comes(self, domain: int, size: int) -> float:
        """If a unit of that size comes to the domain."""
        table = self._table(domain)
        slack = self._problem.domains[domain].slack
        first = max(0, size - slack)
        if first >= len(table):
            return NEVER
        fee = self._by_size[size]
        least = min(table[nodes] - self._charged[slack + nodes - size] for nodes in range(first, len(table)))
        return max(0.0, least - fee)

    def _table(self, domain: int) -> list[float]:
        if domain not in self._tables:
            self._tables[domain] = _least(self._problem, self._units[domain], self._by_size)
        return self._tables[domain]


def _most_charged(by_size: Sequence[float], most: int) -> list[float]:
    """Nodes -> the most that units of so many nodes together can be charged."""
    sizes = [(size, fee) for size, fee in enumerate(by_size) if size and 0 < fee < NEVER]
    best = [0.0] * (most + 1)
    for nodes in range(1, most + 1):
        best[nodes] = max((best[nodes - size] + fee for size, fee in sizes if size <= nodes), default=0.0)
        best[nodes] = max(best[nodes], best[nodes - 1])
    return best
