"""The exact search beside all sequences of moves, and its bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduling.domain.defrag.bounds import NEVER, Least, covers, offers
from scheduling.domain.defrag.cascade import explore, first_plan
from scheduling.domain.defrag.chains import charge, sharpen
from scheduling.domain.defrag.model import Domain, Owner, Problem, Solution, Unit
from scheduling.solver import solve
from tests.domain.scheduling.defrag.brute import cheapest, price, serves, small_problem
from tests.support.crowded import crowded

#: Long enough to finish on any machine; most need a hundredth of a second.
SECONDS = 30.0


def walk(problem: Problem, solution: Solution) -> tuple[int, int, int]:
    """(cost, workloads, nodes) of the solution, walked move by move; whatever is wrong with it fails the test."""
    free = [domain.free for domain in problem.domains]
    places: list[int | None] = [None] * len(problem.units)
    for owner in solution.waits:
        for number in problem.owners[owner].units:
            assert places[number] is None
            places[number] = -1
            free[problem.units[number].domain] += problem.units[number].frees
    for number, domain in solution.moves:
        unit = problem.units[number]
        assert places[number] is None
        assert unit.allowed >> domain & 1
        assert free[domain] >= unit.size
        places[number] = domain
        free[domain] -= unit.size
        free[unit.domain] += unit.frees
    assert serves(problem, tuple(places))
    found = price(problem, tuple(places))
    assert found[0] == solution.cost
    return found


@pytest.mark.parametrize("part", range(8))
def test_it_finds_what_the_search_over_all_sequences_of_moves_finds(part: int) -> None:
    for seed in range(part * 25, part * 25 + 25):
        problem = small_problem(seed)
        wanted, found = cheapest(problem), solve(problem, SECONDS)
        assert (found is None) == (wanted is None), seed
        if found is not None:
            assert (found.bound, found.status) == (found.cost, "optimal"), seed
            assert walk(problem, found) == wanted, seed


def test_the_cascade_never_claims_too_much() -> None:
    found = 0
    for seed in range(40):
        problem = small_problem(seed)
        wanted, first = cheapest(problem), first_plan(problem)
        if first is not None and wanted is not None:
            found += 1
            assert (first.bound,) <= wanted <= walk(problem, first), seed
    assert found > 20


def test_bounds_by_the_lemmas_never_exceed_the_cheapest_plan() -> None:
    sharper = 0
    for seed in range(40):
        problem = small_problem(seed)
        wanted = cheapest(problem)
        if wanted is None:
            continue
        plain = offers(problem)
        sharp = sharpen(problem, plain, charge(problem))
        both = [Least(found, lambda offer: offer.bound).of(sum(problem.counts)) for found in (plain, sharp)]
        assert both[0] <= both[1] <= wanted[0] + 1e-6, seed
        sharper += both[1] > both[0]
    assert sharper > 3  # the chains behind the first move do count


@pytest.mark.parametrize("fill", [0.83, 0.91, 0.95, 0.97])
def test_crowded_racks_are_freed_at_proven_cost(fill: float) -> None:
    for seed in range(2):
        problem = crowded(seed, 64, fill)
        found = solve(problem, SECONDS)
        assert found is not None
        assert found.status == "optimal"
        assert walk(problem, found)[0] == found.bound


def test_several_domains_are_freed_together() -> None:
    problem = crowded(3, 40, 0.83, count=3)
    first, found = first_plan(problem), solve(problem, SECONDS)
    assert first is not None
    assert found is not None
    assert len(found.targets) == 3
    assert walk(problem, first) >= walk(problem, found)
    assert found.cost == found.bound


def test_it_gives_the_same_first_plan_each_time() -> None:
    assert first_plan(crowded(5, 40, 0.95)) == first_plan(crowded(5, 40, 0.95))


def test_rivals_are_told_with_the_runner_up_first_and_every_domain_once() -> None:
    problem = crowded(1, 40, 0.91)
    found = solve(problem, SECONDS)
    assert found is not None
    first = found.rivals[0]
    assert first.cost is not None
    assert first.cost >= found.cost
    assert first.reason == "the best plan for other domains"
    without = replace(problem, targets=problem.targets & ~(1 << found.targets[0][0]))
    other = solve(without, SECONDS)
    assert other is not None
    assert other.cost == first.cost
    named = [name for rival in found.rivals for name in rival.domains]
    assert sorted([*named, problem.domains[found.targets[0][0]].name]) == sorted(domain.name for domain in problem.domains)
    assert any("cannot be restarted" in rival.reason and rival.cost is None for rival in found.rivals)


def test_without_time_the_first_plan_stands() -> None:
    problem = crowded(0, 64, 0.91)
    found, first = solve(problem, 0.0), explore(problem).best
    assert found is not None
    assert first is not None
    assert (found.cost, found.solver) == (first.cost, "cascade")
    assert found.bound <= found.cost
    assert found.status == ("optimal" if found.bound == found.cost else "time limit")


def test_the_cheapest_cover_takes_what_is_needed_and_no_more() -> None:
    table = covers([(5, 4, 0), (3, 2, 1), (4, 2, 2)], 7)
    assert [price for price, _ in table] == [0, 3, 3, 5, 5, 8, 8, 12]
    assert table[7][1] == (0, 1, 2)
    assert covers([(5, 4, 0)], 5)[5][0] == NEVER


def test_two_that_would_have_to_take_each_others_places_are_left_out_and_the_plan_says_so() -> None:
    """A needs one node. That u and v change places would be cheap, and neither can go first; that w leaves is dear."""
    names = {"u": (0, 3, 1, 0b010), "v": (1, 2, 1, 0b001), "w": (0, 1, 50, 0b100)}
    units = tuple(
        Unit(pieces=((name, 0),), owner=number, domain=domain, size=size, frees=size, cost=cost, allowed=allowed, small=False)
        for number, (name, (domain, size, cost, allowed)) in enumerate(names.items())
    )
    domains = tuple(
        Domain(name=name, free=free, slack=free, small_slack=free, most=most, spares=0, floor=0, pinned=(), out=0)
        for name, free, most in (("A", 0, 4), ("B", 1, 3), ("C", 1, 1))
    )
    problem = replace(
        crowded(0, 3, 0.0),
        sizes=(1,),
        whole=False,
        targets=0b001,
        domains=domains,
        units=units,
        owners=tuple(Owner(jobs=(name,), units=(number,), shared=0, wait=None) for number, name in enumerate(names)),
    )
    assert cheapest(problem) == (50, 1, 1)
    found = solve(problem, SECONDS)
    assert found is not None
    assert (found.cost, found.moves) == (50, ((2, 2),))
    assert found.bound < found.cost
    assert "no order of moves" in found.status
