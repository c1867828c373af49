"""What can be no part of a plan below a limit, by the two lemmas: ways of domains, units that leave, units that come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scheduling.domain.defrag.bounds import NEVER, Least, Offer, can_leave, whole_cost
from scheduling.domain.defrag.chains import Charges, Surplus, least_charged
from scheduling.domain.defrag.model import Problem


class Offered(NamedTuple):
    """What both lemmas say of a problem."""

    offers: tuple[Offer, ...]
    charges: Charges


class Pruned:
    """What is left."""

    def __init__(self, problem: Problem, offered: Offered, below: int) -> None:
        self._problem = problem
        self._below = below
        self.charges = offered.charges
        self.offers = list(self._worthwhile(offered.offers))
        self._serving = {offer.domain for offer in self.offers}
        self._least = min((offer.own for offer in self.offers), default=NEVER)
        self._charged = least_charged(problem, self.offers)
        self._surplus = Surplus(problem, offered.charges)

    def may_leave(self, number: int) -> bool:
        """Whether the unit may leave; elsewhere than in a domain that serves that comes on top of the cheapest one that does."""
        unit = self._problem.units[number]
        lost = self.charges.by_size[unit.size] >= NEVER and self._problem.owners[unit.owner].wait is None
        if lost or unit.cost >= self._below or not can_leave(self._problem, unit):
            return False
        return unit.domain in self._serving or (
            unit.cost + self._least < self._below and self._with(self._surplus.leaves(number)) < self._below
        )

    def may_come(self, domain: int, size: int) -> bool:
        """Whether a unit of that size may come to the domain."""
        return domain in self._serving or self._with(self._surplus.comes(domain, size)) < self._below

    def stays_where_none_serves(self, number: int) -> bool:
        """Whether the unit leaves its domain only if that serves."""
        return self._problem.units[number].cost + self._least >= self._below

    def _worthwhile(self, offers: tuple[Offer, ...]) -> Iterator[Offer]:
        """Those that, with the cheapest ones beside them, cost less than the limit at least."""
        others = Least(offers, lambda offer: offer.bound)
        for offer in offers:
            left = sum(self._problem.counts) - sum(offer.way.counts)
            if whole_cost(offer.bound + others.of(left, without=offer.domain)) < self._below:
                yield offer

    def _with(self, surplus: float) -> int:
        """What a plan costs at least in which a domain that does not serve adds so much."""
        return whole_cost(self._charged + surplus)
