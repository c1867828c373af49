"""Running HiGHS: the only module that knows it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, gcd

import highspy
import numpy as np

from scheduling.solver.program import Program

#: A limit that is none.
NO_LIMIT = 1 << 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the solver has found within its time."""

    values: list[float] | None
    bound: int  # no solution of the program costs less; the limit itself where there is no solution
    proven: bool  # nothing is cheaper than `values`, or nothing is cheaper than the limit


def run(program: Program, below: int, seconds: float, *, ranked: bool = False) -> Answer:
    """The cheapest solution that costs less than `below`, or the one of the lowest rank; all costs and ranks are whole numbers.

    The bound is one of what is asked for.
    """
    if seconds <= 0:
        return Answer(values=None, bound=0, proven=False)
    wanted = program.ranks if ranked else program.costs
    step = gcd(*wanted) or 1
    solver = _solver(seconds)
    solver.passModel(_model(program, [value / step for value in wanted]))
    _limit(solver, program.costs, below)
    solver.run()
    status = solver.getModelStatus()
    if status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible):
        return Answer(values=None, bound=below, proven=True)
    info = solver.getInfo()
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    values = list(solver.getSolution().col_value) if found else None
    if not np.isfinite(info.mip_dual_bound):
        return Answer(values=values, bound=0, proven=False)
    bound = step * max(0, ceil(info.mip_dual_bound - 1e-4))
    return Answer(values=values, bound=bound if ranked else min(bound, below), proven=status == highspy.HighsModelStatus.kOptimal)


def _limit(solver: highspy.Highs, costs: list[int], below: int) -> None:
    step = gcd(*costs) or 1
    most = -(-below // step) - 1
    places = [place for place, cost in enumerate(costs) if cost]
    if most < NO_LIMIT:
        values = np.array([costs[place] / step for place in places])
        solver.addRow(-highspy.kHighsInf, most, len(places), np.array(places, np.int32), values)


def _solver(seconds: float) -> highspy.Highs:
    with _unheard():  # it greets as it is made, before it can be told to be quiet
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("time_limit", float(seconds))
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("random_seed", 0)
    solver.setOptionValue("mip_rel_gap", 0.0)
    solver.setOptionValue("mip_abs_gap", 0.999)  # costs are whole numbers
    return solver


@contextmanager
def _unheard() -> Iterator[None]:
    """What is written to the standard output meanwhile, by whatever library, is lost: answers and their readers come first."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _model(program: Program, objective: list[float]) -> highspy.HighsLp:
    model = highspy.HighsLp()
    model.num_col_ = len(program.costs)
    model.num_row_ = len(program.low)
    model.col_cost_ = np.array(objective, float)
    model.col_lower_ = np.zeros(len(program.costs))
    model.col_upper_ = np.array(program.upper, float)
    model.row_lower_ = np.array(program.low, float)
    model.row_upper_ = np.array(program.high, float)
    model.integrality_ = [highspy.HighsVarType.kInteger] * len(program.costs)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.array(program.starts, np.int32)
    model.a_matrix_.index_ = np.array(program.index, np.int32)
    model.a_matrix_.value_ = np.array(program.value, float)
    return model


def now() -> float:
    """Seconds on a clock that only goes forward."""
    return time.monotonic()
