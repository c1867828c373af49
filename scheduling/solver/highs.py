"""Running HiGHS: the only module that knows it."""

from __future__ import annotations

import time
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


def run(program: Program, below: int, seconds: float) -> Answer:
    """The cheapest solution that costs less than `below`, all costs whole numbers."""
    if seconds <= 0:
        return Answer(values=None, bound=0, proven=False)
    step = gcd(*program.costs) or 1
    solver = _solver(program, -(-below // step) - 1, seconds, step)
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return Answer(values=None, bound=below, proven=True)
    info = solver.getInfo()
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    values = list(solver.getSolution().col_value) if found else None
    if not np.isfinite(info.mip_dual_bound):
        return Answer(values=values, bound=0, proven=False)
    bound = step * max(0, ceil(info.mip_dual_bound - 1e-4))
    return Answer(values=values, bound=min(bound, below), proven=status == highspy.HighsModelStatus.kOptimal)


def _solver(program: Program, most: int, seconds: float, step: int) -> highspy.Highs:
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("time_limit", float(seconds))
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("random_seed", 0)
    solver.setOptionValue("mip_rel_gap", 0.0)
    solver.setOptionValue("mip_abs_gap", 0.999)  # costs are whole numbers
    solver.passModel(_model(program, step))
    if most >= NO_LIMIT:
        return solver
    places = [place for place, cost in enumerate(program.costs) if cost]
    solver.addRow(-highspy.kHighsInf, most, len(places), np.array(places, np.int32), np.array([program.costs[p] / step for p in places]))
    return solver


def _model(program: Program, step: int) -> highspy.HighsLp:
    model = highspy.HighsLp()
    model.num_col_ = len(program.costs)
    model.num_row_ = len(program.low)
    model.col_cost_ = np.array(program.costs, float) / step
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
