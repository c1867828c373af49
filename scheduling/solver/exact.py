"""The cheapest plan within a time limit: the cascade's first, then HiGHS for cheaper ones, then what it is held against."""

from __future__ import annotations

from dataclasses import replace

from clusters.domain.defrag import Rival
from scheduling.domain.defrag.bounds import NEVER, least
from scheduling.domain.defrag.cascade import Found, explore
from scheduling.domain.defrag.chains import charge, sharpen
from scheduling.domain.defrag.model import Problem, Solution, cost_of
from scheduling.domain.defrag.ordering import arrange
from scheduling.domain.defrag.rivals import rivals_of
from scheduling.solver.highs import now
from scheduling.solver.milp import Milp, Offered

#: A cheaper end state that no order of moves leads to is left out, and the search goes on, so many times.
MOST_CYCLES = 8
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
    rivals = _rivals(problem, found, best, start + seconds)
    slice_only = _slice_only(narrow, best, start + seconds) if narrow else None
    return replace(best, seconds=round(now() - start, 3), rivals=rivals, slice_only=slice_only)


def _search(problem: Problem, found: Found, deadline: float) -> Solution | None:
    """The best plan with its bound."""
    if found.best is not None and found.best.cost <= found.best.bound:
        return found.best
    charges = charge(problem)
    offers = sharpen(problem, found.offers, charges)
    bound = least(problem, offers)
    if bound >= NEVER:
        return None
    best, proven, cut = found.best, 0, False
    if best is None or best.cost > bound:
        best, proven, cut = _cheaper(problem, Offered(offers, charges), best, deadline)
    if best is None:
        return None
    bound = min(max(bound, proven), best.cost)
    return replace(best, bound=bound, status=_status(best.cost <= bound, cut))


def _cheaper(problem: Problem, offered: Offered, best: Solution | None, deadline: float) -> tuple[Solution | None, int, bool]:
    """A cheaper plan, or the one at hand; what any costs at least by the solver; whether end states without an order were left out."""
    cut: list[frozenset[int]] = []
    bound, ceiling = 0, NEVER  # no bound above the cost of an end state that was left out
    while len(cut) <= MOST_CYCLES:
        milp = Milp(problem, offered, NEVER if best is None else best.cost, cut=cut)
        answer = milp.run(deadline - now())
        bound = max(bound, min(answer.bound, ceiling))
        if answer.values is None:
            break
        solution, leaving = _ordered(milp, answer.values)
        if solution is None:
            cut.append(frozenset(leaving))
            ceiling = min(ceiling, answer.bound)
        elif best is None or solution.cost < best.cost:
            best = solution
        if now() >= deadline or (solution is not None and answer.proven):
            break
    return best, bound, bool(cut)


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
    known = next((cost for cost, domains in found.tried if frozenset(domains) != used), NEVER)
    charges = charge(problem)
    offers = sharpen(problem, found.offers, charges)
    milp = Milp(problem, Offered(offers, charges), known, spared=used)
    answer = milp.run(deadline - now())
    runner_up: Solution | None = None
    if answer.values is not None:
        runner_up, _ = _ordered(milp, answer.values)
    return rivals_of(problem, found._replace(offers=offers), best, runner_up, answer.bound if answer.proven or runner_up else None)
