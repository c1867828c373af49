"""What freeing a domain costs at least: the lemma by which most of the search is left out.

**Lemma.** To have `need` nodes free in a domain with `free` of them, units that free at least `need - free` nodes must leave it, whatever
comes in. Each unit that leaves costs at least its own price, since a job that waits pays for all its units. So the cheapest set of units
that frees so many, prices of their own only, costs no more than any plan in which this domain serves; and since each unit is in one domain,
the sum over several domains costs no more than any plan in which all of them serve.

So with a plan of cost C at hand: a domain whose bound (with the cheapest others that must serve beside it) is C or more cannot serve in a
cheaper plan, and a unit whose price is C or more, or C or more together with the cheapest bound where its own domain does not serve, does
not move in one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from scheduling.domain.defrag.model import Problem, Unit, Way

#: No price is as high.
NEVER = 1 << 60
#: Far below the smallest difference of two costs, far above what sums of floats are off.
SAFE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One way in which a domain may serve, and what that costs at least."""

    domain: int
    way: Way
    own: int  # by the lemma above
    charged: float = 0.0  # by that of `chains`
    bound: int = 0  # the better of both, as a whole number


def covers(items: Sequence[tuple[int, int, int]], most: int) -> list[tuple[int, tuple[int, ...]]]:
    """For each number of nodes up to `most` the cheapest of the items (price, nodes, name) that free so many: (price, their names)."""
    best: list[tuple[int, tuple[int, ...]]] = [(0, ()), *[(NEVER, ())] * most]
    for price, nodes, name in items:
        for wanted in range(most, 0, -1):
            rest, names = best[max(0, wanted - nodes)]
            if rest + price < best[wanted][0]:
                best[wanted] = (rest + price, (*names, name))
    return best


def by_domain(problem: Problem) -> list[list[int]]:
    """The units of each domain that it may help to take away."""
    found: list[list[int]] = [[] for _ in problem.domains]
    for number, unit in enumerate(problem.units):
        if can_leave(problem, unit):
            found[unit.domain].append(number)
    return found


def can_leave(problem: Problem, unit: Unit) -> bool:
    """Whether it may help that the unit leaves. One that frees no node only does where all has to leave, or where all of its job waits."""
    owner = problem.owners[unit.owner]
    if not unit.frees and not problem.whole and (owner.wait is None or len(owner.units) == 1):
        return False
    return bool(unit.allowed) or owner.wait is not None


def offers(problem: Problem) -> list[Offer]:
    """All ways in which domains may serve, the cheapest bound first."""
    found: list[Offer] = []
    units = by_domain(problem)
    for index, here in enumerate(problem.domains):
        ways = problem.ways(index)
        if not ways:
            continue
        most = max(0, max(way.need for way in ways) - here.free)
        table = covers([(problem.units[unit].cost, problem.units[unit].frees, unit) for unit in units[index]], most)
        for way in ways:
            bound = table[max(0, way.need - here.free)][0]
            if problem.whole and bound < NEVER:
                bound = sum(problem.units[unit].cost for unit in units[index])
            if bound < NEVER:
                found.append(Offer(domain=index, way=way, own=bound, bound=bound))
    found.sort(key=lambda offer: (offer.bound, -sum(offer.way.counts), offer.domain))
    return found


class Least:
    """What slices cost at least, each domain taken at its cheapest price a slice, and for no more slices than it holds."""

    def __init__(self, found: Iterable[Offer], price: Callable[[Offer], float]) -> None:
        rates: dict[int, float] = {}
        slices: dict[int, int] = {}
        for offer in found:
            count = sum(offer.way.counts)
            rates[offer.domain] = min(price(offer) / count, rates.get(offer.domain, NEVER))
            slices[offer.domain] = max(count, slices.get(offer.domain, 0))
        self._rates = sorted((rate, domain, slices[domain]) for domain, rate in rates.items())

    def of(self, slices: int, without: int = -1) -> float:
        """So many slices in other domains than `without`."""
        cost = 0.0
        for rate, domain, most in self._rates:
            if slices <= 0:
                break
            if domain != without:
                cost += rate * min(slices, most)
                slices -= most
        return cost if slices <= 0 else NEVER


def least(problem: Problem, found: Sequence[Offer]) -> int:
    """What any plan costs at least."""
    return whole_cost(Least(found, lambda offer: offer.bound).of(sum(problem.counts)))


def whole_cost(cost: float) -> int:
    """The least whole number that is no less; what sums of floats are off is left aside."""
    return ceil(cost - SAFE) if cost < NEVER else NEVER
