"""Freeing one whole rack of crowded ones: the first plan, and the proof that a plan is cheapest.

Every rack is at the stated fill, one node more or less, with jobs of 2-8 nodes that weigh 1-5 a node; a tenth of the jobs stay. The floor
is HiGHS alone on the plain model, with a column for each job and each rack that it may move to, within the same limit and told no plan. The
first plan is held against the proven cost; beside it stands on how many a greedy plan without chains finds anything.
"""

from __future__ import annotations

import time
from statistics import mean, median
from typing import NamedTuple

import pytest

from scheduling.domain.defrag.cascade import first_plan
from scheduling.domain.defrag.flows import Flows
from scheduling.domain.defrag.model import Problem, Solution
from scheduling.solver import solve
from scheduling.solver.highs import Answer, run
from scheduling.solver.program import INF, Program
from tests.bench.harness import Row, table
from tests.support.crowded import crowded

LIMIT = 4.0
FILLS = (0.83, 0.86, 0.89, 0.92, 0.95, 0.97)
#: (racks, instances at each fill, of these with the floor beside them)
SIZES = ((128, 8, 2), (1_000, 2, 0))


class Run(NamedTuple):
    """One instance."""

    first: Solution | None
    first_s: float
    best: Solution | None
    best_s: float


@pytest.mark.bench
@pytest.mark.parametrize(("racks", "count", "floors"), SIZES)
def test_freeing_one_rack(racks: int, count: int, floors: int) -> None:
    rows: list[Row] = []
    for fill in FILLS:
        problems = [crowded(seed, racks, fill) for seed in range(count)]
        runs = [_ours(problem) for problem in problems]
        plain = [_plain(problem) for problem in problems[:floors]]
        rows += _rows(f"{racks} racks, {fill:.0%}", problems, runs, plain)
    table(f"Freeing one of {racks} racks, limit {LIMIT:.0f} s", rows)


def _ours(problem: Problem) -> Run:
    start = time.perf_counter()
    first = first_plan(problem)
    first_s = time.perf_counter() - start
    start = time.perf_counter()
    best = solve(problem, LIMIT)
    return Run(first, first_s, best, time.perf_counter() - start)


def _rows(name: str, problems: list[Problem], runs: list[Run], plain: list[tuple[Answer, float]]) -> list[Row]:
    found = [run.best for run in runs if run.best is not None]
    proven = sum(best.bound == best.cost for best in found)
    gaps = [(best.cost - best.bound) / best.cost for best in found] or [0.0]
    over = [run.first.cost / run.best.cost - 1 for run in runs if run.first and run.best]
    greedy = [_greedy(problem) for problem in problems]
    worked = sum(cost is not None for cost in greedy)
    took = median(run.best_s for run in runs)
    first_ms = median(run.first_s for run in runs) * 1_000
    floor, ratio = "-", "-"
    if plain:
        floor_s = median(seconds for _, seconds in plain)
        floor = f"{sum(answer.proven for answer, _ in plain)}/{len(plain)} in {floor_s:.2f} s"
        ratio = f"{floor_s / took:.0f}x"
    last = f"gap {mean(gaps):.0%} mean, {max(gaps):.0%} most"
    proof = f"{proven}/{len(runs)} in {took:.2f} s, {last}"
    apart = f"{len(over)}/{len(runs)} in {first_ms:.0f} ms, +{mean(over or [0]):.0%} mean, +{max(over or [0]):.0%} most"
    return [
        Row(f"{name}: proven, with its rivals", proof, f"plain model {floor}", ratio),
        Row(f"{name}: first plan", apart, f"without chains {worked}/{len(runs)}", "-"),
    ]


def _plain(problem: Problem) -> tuple[Answer, float]:
    """HiGHS on the plain model."""
    program = Program()
    serves = {index: program.column(0, 1) for index in range(len(problem.domains)) if problem.ways(index)}
    program.row(1, 1, dict.fromkeys(serves.values(), 1.0))
    flows: list[dict[int, float]] = [{} for _ in problem.domains]
    for unit in problem.units:
        places = {domain: program.column(unit.cost, 1) for domain in range(len(problem.domains)) if unit.allowed >> domain & 1}
        program.row(-INF, 1, dict.fromkeys(places.values(), 1.0))
        for domain, column in places.items():
            flows[domain][column] = unit.size
            flows[unit.domain][column] = -unit.frees
    for index, here in enumerate(problem.domains):
        claim = {serves[index]: float(here.most)} if index in serves else {}
        program.row(-INF, here.slack, {**flows[index], **claim})
    start = time.perf_counter()
    answer = run(program, 1 << 50, LIMIT)
    return answer, time.perf_counter() - start


def _greedy(problem: Problem) -> int | None:
    """The cheapest rack whose work fits elsewhere as it is, the largest first into the tightest."""
    best: int | None = None
    for index in range(len(problem.domains)):
        ways = problem.ways(index)
        units = [number for number, unit in enumerate(problem.units) if unit.domain == index]
        cost = sum(problem.units[number].cost for number in units)
        if not ways or (best is not None and cost >= best):
            continue
        flows = Flows(problem)
        flows.serve(index, ways[0])
        if all(_placed(flows, number, index) for number in sorted(units, key=lambda number: -problem.units[number].size)):
            best = cost
    return best


def _placed(flows: Flows, number: int, left: int) -> bool:
    home = flows.tightest(flows.problem.units[number], 1 << left)
    if home is not None:
        flows.leave(number)
        flows.enter(number, home)
    return home is not None
