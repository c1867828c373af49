"""A first plan at once: free the domain that looks cheapest, and make room for what leaves it by moving smaller work on.

What it would take to find a place for a unit of each size is estimated from the smallest up: nothing where some domain has room; else the
cheapest units, smaller than it, that have to leave some domain, each with what its own place takes. By these estimates the domains that may
serve are tried, cheapest first, and in each the cheapest units leave. A unit goes to the tightest domain that has room for it; else smaller
units leave the domain where that costs least, and are placed in turn. The same question gets the same answer; the number of tries is
bounded, not the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scheduling.domain.defrag.bounds import NEVER, Offer, by_domain, covers, least, offers
from scheduling.domain.defrag.flows import Flows
from scheduling.domain.defrag.model import Problem, Solution, Unit, Way, cost_of, workloads
from scheduling.domain.defrag.ordering import arrange, arrivals_of

#: Sets of domains that are tried.
MOST_TRIES = 48
#: Domains tried for one unit that no domain has room for.
MOST_DOMAINS = 4
#: Domains that may be looked at to make room in, by one try, and by all.
MOST_LOOKS = 1_000
MOST_LOOKS_IN_ALL = 4_000
#: How long a chain of moves may be.
MOST_LINKS = 5


class Found(NamedTuple):
    """What the cascade has found out."""

    best: Solution | None
    tried: tuple[tuple[int, tuple[int, ...]], ...]  # (cost, domains) of the best plan for each set that worked, cheapest first
    offers: tuple[Offer, ...]


def first_plan(problem: Problem) -> Solution | None:
    """The best plan that the cascade finds, or None."""
    return explore(problem).best


def explore(problem: Problem) -> Found:
    """The best plan, and what else was found on the way."""
    found = tuple(offers(problem))
    bound = least(problem, found)
    if bound >= NEVER:
        return Found(None, (), found)
    search = _Cascade(problem, found)
    best: Solution | None = None
    rank: tuple[int, ...] = ()
    costs: dict[tuple[int, ...], int] = {}
    for flows in search.tries():
        moved = tuple(sorted(flows.places))
        waits = tuple(sorted(flows.waits))
        cost = cost_of(problem, moved, waits)
        size = workloads(problem, moved, waits)
        domains = tuple(sorted(flows.targets))
        if problem.most_moves is not None and size[0] > problem.most_moves:
            continue
        order = arrange(problem, moved, arrivals_of(problem, flows.places), waits)
        if order is None:
            continue
        moved = tuple(sorted(unit for unit, _ in order))
        cost = cost_of(problem, moved, waits)
        costs[domains] = min(cost, costs.get(domains, cost))
        now = (cost, *workloads(problem, moved, waits))
        if best is None or now < rank:
            rank, search.best = now, cost
            best = Solution(
                moves=tuple(order),
                waits=waits,
                targets=tuple(sorted(flows.targets.items(), key=lambda item: item[0])),
                cost=cost,
                bound=min(cost, bound),
                solver="cascade",
                status="optimal" if cost <= bound else "a first plan",
            )
    return Found(best, tuple(sorted((cost, domains) for domains, cost in costs.items())), found)


class _Cascade:
    def __init__(self, problem: Problem, found: tuple[Offer, ...]) -> None:
        self.problem = problem
        self.best = NEVER
        self._offers = found
        self._units = by_domain(problem)
        self._flows = Flows(problem)
        self._looks = 0  # that are left to this try
        self._left = MOST_LOOKS_IN_ALL
        self._widest = max((unit.size for unit in problem.units), default=0)
        self._placing: list[int] = []  # size -> estimate of what a place for a unit of that size takes
        self._hosts: list[list[tuple[int, int]]] = []  # size -> (estimate, domain) where smaller units can make room for one
        self._estimate()

    # ---- estimates

    def _estimate(self) -> None:
        """From the smallest size up. A size that some domain has room for takes nothing; where room can be made is known for it too.

        Where nothing may move nobody asks.
        """
        if not any(unit.allowed for unit in self.problem.units):
            self._placing, self._hosts = [NEVER] * (self._widest + 1), [[]] * (self._widest + 1)
            return
        slack = max((domain.slack for domain in self.problem.domains), default=0)
        self._placing, self._hosts = [0], [[]]
        for size in range(1, self._widest + 1):
            hosts = self._host(size)
            self._hosts.append(hosts)
            self._placing.append(0 if size <= slack else hosts[0][0] if hosts else NEVER)

    def _host(self, size: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for index, units in enumerate(self._units):
            here = self.problem.domains[index]
            if here.slack >= size or here.most - here.free + here.slack < size:
                continue
            items = self._items([unit for unit in units if self.problem.units[unit].size < size])
            price = covers(items, size - here.slack)[-1][0]
            if price < NEVER:
                found.append((price, index))
        found.sort()
        return found[: 4 * MOST_DOMAINS]

    def _items(self, units: list[int]) -> list[tuple[int, int, int]]:
        items = ((self._price(unit), self.problem.units[unit].frees, unit) for unit in units)
        return [item for item in items if item[0] < NEVER]

    def _price(self, number: int) -> int:
        """What it takes that the unit leaves: its move with a place for it, or its wait."""
        unit = self.problem.units[number]
        owner = self.problem.owners[unit.owner]
        move = unit.cost + owner.shared + self._placing[unit.size] if unit.allowed else NEVER
        return min(move, NEVER if owner.wait is None else owner.wait, NEVER)

    # ---- tries

    def tries(self) -> Iterator[Flows]:
        """Flows that free enough domains, one after another."""
        ranked = self._ranked()
        for area in self.problem.areas or (-1,):
            inside = [offer for offer in ranked if area >> offer[1].domain & 1]
            for start in range(min(len(inside), max(4, MOST_TRIES // (len(self.problem.areas) or 1)))):
                if inside[start][1].bound >= self.best or self._left <= 0:
                    continue
                mark = self._flows.mark()
                looks = self._looks = min(MOST_LOOKS, self._left)
                if self._serve(inside, start):
                    yield self._flows
                self._left -= looks - self._looks
                self._flows.back(mark)

    def _ranked(self) -> list[tuple[int, Offer]]:
        """The offers by what they are estimated to cost a slice."""
        found: list[tuple[int, int, Offer]] = []
        for offer in self._offers:
            need = max(0, offer.way.need - self.problem.domains[offer.domain].free)
            price = covers(self._items(self._units[offer.domain]), need)[-1][0]
            if price < NEVER:
                found.append((price // sum(offer.way.counts), offer.domain, offer))
        found.sort(key=lambda item: item[:2])
        return [(price, offer) for price, _, offer in found]

    def _serve(self, ranked: list[tuple[int, Offer]], start: int) -> bool:
        """All slices find domains: the offer at `start` first, then the cheapest ones that still fit what is left."""
        left = list(self.problem.counts)
        for _, offer in [ranked[start], *ranked[:start], *ranked[start + 1 :]]:
            way = offer.way
            if offer.domain in self._flows.targets or any(count > rest for count, rest in zip(way.counts, left, strict=True)):
                continue
            mark = self._flows.mark()
            if self._free(offer.domain, way):
                left = [rest - count for count, rest in zip(way.counts, left, strict=True)]
                if not any(left):
                    return True
            else:
                self._flows.back(mark)
                if offer is ranked[start][1]:
                    return False
            if self._looks <= 0:
                return False
        return False

    def _free(self, domain: int, way: Way) -> bool:
        self._flows.serve(domain, way)
        if self.problem.whole:
            return self._empty(domain)
        return self._clear(domain, self._flows.lacks(domain), self._widest + 1, (domain,), MOST_LINKS)

    def _empty(self, domain: int) -> bool:
        """All work leaves the domain."""
        here = tuple(unit for unit in self._units[domain] if unit not in self._flows.gone)
        return all(self._price(unit) < NEVER for unit in here) and self._move(here, (domain,), MOST_LINKS) and not self._flows.lacks(domain)

    # ---- moves

    def _clear(self, domain: int, nodes: int, below: int, barred: tuple[int, ...], links: int) -> bool:
        """The cheapest units smaller than `below` leave the domain until so many more nodes are free, and find places."""
        if nodes <= 0:
            return True
        here = [unit for unit in self._units[domain] if unit not in self._flows.gone and self.problem.units[unit].size < below]
        here = [unit for unit in here if unit not in self._flows.places]
        price, chosen = covers(self._items(here), nodes)[-1]
        return price < NEVER and self._move(chosen, barred, links)

    def _move(self, chosen: tuple[int, ...], barred: tuple[int, ...], links: int) -> bool:
        waiting = [unit for unit in chosen if self._should_wait(unit)]
        for unit in waiting:
            self._flows.wait(self.problem.units[unit].owner)
        moving = [unit for unit in chosen if unit not in self._flows.gone]
        for unit in moving:
            self._flows.leave(unit)
        moving.sort(key=lambda unit: (-self.problem.units[unit].size, unit))
        return all(self._settle(unit, barred, links) for unit in moving)

    def _should_wait(self, number: int) -> bool:
        unit = self.problem.units[number]
        owner = self.problem.owners[unit.owner]
        if owner.wait is None or any(other in self._flows.places for other in owner.units):
            return False
        return not unit.allowed or unit.cost + owner.shared + self._placing[unit.size] > owner.wait

    def _settle(self, number: int, barred: tuple[int, ...], links: int) -> bool:
        """A place for a unit that has left."""
        unit = self.problem.units[number]
        closed = sum(1 << domain for domain in {*barred, *self._flows.targets})
        home = self._flows.tightest(unit, closed)
        if home is not None:
            self._flows.enter(number, home)
            return True
        return (links > 0 and self._make_room(number, unit, closed, barred, links)) or self._stop(unit)

    def _stop(self, unit: Unit) -> bool:
        """For want of a place all of the owner waits, where it may."""
        owner = self.problem.owners[unit.owner]
        if owner.wait is None or any(other in self._flows.places for other in owner.units):
            return False
        self._flows.wait(unit.owner)
        return True

    def _make_room(self, number: int, unit: Unit, closed: int, barred: tuple[int, ...], links: int) -> bool:
        tried = 0
        for _, domain in self._hosts[unit.size]:
            if not unit.allowed & ~closed & 1 << domain:
                continue
            tried += 1
            self._looks -= 1
            if tried > MOST_DOMAINS or self._looks <= 0:
                return False
            mark = self._flows.mark()
            lacking = unit.size - self._flows.room(domain, unit)
            self._flows.enter(number, domain)
            if self._clear(domain, lacking, unit.size, (*barred, domain), links - 1):
                return True
            self._flows.back(mark)
        return False
