"""The cheapest plan within a time limit: the cascade's first, then HiGHS for cheaper ones, then what it is held against."""

from __future__ import annotations

from dataclasses import replace

from clusters.domain.defrag import Rival
from scheduling.domain.defrag.bounds import NEVER, least
from scheduling.domain.defrag.cascade import Found, explore
from scheduling.domain.defrag.chains import charge, sharpen
from scheduling.domain.defrag.model import Problem, Solution, cost_of, workloads
from scheduling.domain.defrag.ordering import arrange
from scheduling.domain.defrag.rivals import rivals_of
from scheduling.solver.highs import now
from scheduling.solver.milp import Milp
from scheduling.solver.pruning import Offered

#: A cheaper end state that no order of moves leads to is left out, and the search goes on, so many times.
MOST_CYCLES = 8
#: Plans are first looked for that cost more than the bound by one part in so many, then by twice as much, and so on.
FIRST_REACH = 8
#: So long it is looked for a plan of the same cost that disturbs less.
TIDY_S = 1.0
#: Of the time, the part for the plan itself where there is a cheaper question beside it.
PLAN_PART = 0.75


def solve(problem: Problem, seconds: float) -> Solution | None:
    """The best plan found within about `seconds`; None where there is none, or none was found."""
    start = now()
    found = explore(problem)
    narrow = problem.without_spares()
    best = _search(problem, found, start + seconds * (PLAN_PART if narrow else 1))
    if best is None:
        return None
    rivals = _rivals(problem, found, best, start + seconds) if best.cost else ()
    slice_only = _slice_only(narrow, best, start + seconds) if narrow else None
    return replace(best, seconds=round(now() - start, 3), rivals=rivals, slice_only=slice_only)


def _search(problem: Problem, found: Found, deadline: float) -> Solution | None:
    """The best plan with its bound."""
    if found.best is not None and not found.best.cost:
        return found.best
    charges = charge(problem)
    offers = sharpen(problem, found.offers, charges)
    if least(problem, offers) >= NEVER:
        return None
    hunt = _Hunt(problem, Offered(offers, charges), found.best)
    hunt.run(deadline)
    best = hunt.best
    if best is None:
        return None
    bound = min(hunt.bound, hunt.ceiling, best.cost)
    if bound == best.cost and best.moves:
        best = hunt.tidied(best, min(deadline, now() + TIDY_S))
    return replace(best, bound=bound, status=_status(best.cost <= bound, bool(hunt.cut)))


class _Hunt:
    """Looking for cheaper plans, first for those that cost little more than the bound: a low limit rules most of the search out."""

    def __init__(self, problem: Problem, offered: Offered, best: Solution | None) -> None:
        self.best = best
        self.bound = least(problem, offered.offers)
        self.ceiling = NEVER  # the least cost of an end state that was left out: no bound lies above it
        self.cut: list[frozenset[int]] = []
        self._problem = problem
        self._offered = offered
        self._reach = max(1, self.bound // FIRST_REACH)
        everything = sum(unit.cost for unit in problem.units) + sum(owner.shared + (owner.wait or 0) for owner in problem.owners)
        self._limit = everything + 1 if best is None else best.cost

    def run(self, deadline: float) -> None:
        """Until nothing is cheaper, or the time is over."""
        while self.bound < self._limit and len(self.cut) <= MOST_CYCLES and now() < deadline:
            below = min(self._limit, self.bound + self._reach)
            milp = Milp(self._problem, self._offered, below, cut=self.cut)
            answer = milp.run(deadline - now())
            self.bound = max(self.bound, answer.bound)
            if answer.values is not None:
                self._take(milp, answer.values, answer.bound)
            elif not answer.proven:
                return
            self._reach *= 2

    def tidied(self, best: Solution, deadline: float) -> Solution:
        """One that costs the same and disturbs fewer workloads, or fewer nodes."""
        milp = Milp(self._problem, self._offered, best.cost + 1)
        answer = milp.tidy(deadline - now())
        other = None if answer.values is None else _ordered(milp, answer.values)[0]
        return other if other is not None and _rank(self._problem, other) < _rank(self._problem, best) else best

    def _take(self, milp: Milp, values: list[float], bound: int) -> None:
        solution, leaving = _ordered(milp, values)
        if solution is None:
            self.cut.append(frozenset(leaving))
            self.ceiling = min(self.ceiling, bound)
        elif solution.cost < self._limit:
            self.best, self._limit = solution, solution.cost


def _rank(problem: Problem, solution: Solution) -> tuple[int, ...]:
    return (solution.cost, *workloads(problem, tuple(unit for unit, _ in solution.moves), solution.waits))


def _status(optimal: bool, cut: bool) -> str:
    if optimal:
        return "optimal"
    return "cheaper end states were left out, since no order of moves leads to them" if cut else "time limit"


def _ordered(milp: Milp, values: list[float]) -> tuple[Solution | None, list[int]]:
    """The solver's answer with an order, and the units that leave in it."""
    problem = milp.problem
    leaving, arrivals, waits, targets = milp.read(values)
    order = arrange(problem, leaving, arrivals, waits)
    if order is None:
        return None, leaving
    cost = cost_of(problem, tuple(unit for unit, _ in order), tuple(waits))
    solution = Solution(moves=tuple(order), waits=tuple(waits), targets=tuple(targets), cost=cost, bound=0, solver="highs", status="")
    return solution, leaving


def _slice_only(problem: Problem, best: Solution, deadline: float) -> int | None:
    """What room for the slices alone would cost; as good as it is known by then."""
    narrow = _search(problem, explore(problem), deadline)
    return best.cost if narrow is None else min(best.cost, narrow.cost)


def _rivals(problem: Problem, found: Found, best: Solution, deadline: float) -> tuple[Rival, ...]:
    """The best plan for other domains, as far as there is time, and why all others lose."""
    used = frozenset(domain for domain, _ in best.targets)
    tried = (cost for cost, domains in found.tried if frozenset(domains) != used)
    known = min(next(tried, NEVER), 2 * best.cost)  # what costs twice as much is no rival
    charges = charge(problem)
    offers = sharpen(problem, found.offers, charges)
    milp = Milp(problem, Offered(offers, charges), known, spared=used)
    answer = milp.run(deadline - now())
    runner_up: Solution | None = None
    if answer.values is not None:
        runner_up, _ = _ordered(milp, answer.values)
    return rivals_of(problem, found._replace(offers=offers), best, runner_up, answer.bound if answer.proven or runner_up else None)
