"""Which plans fit which slices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.constraints import ParallelPlan
from scheduling.domain.parallelism.check import check_plan, unit_nodes


def test_a_group_of_64_gpus_is_16_nodes_of_4() -> None:
    plan = ParallelPlan(ep=64, dp=2)
    assert unit_nodes(plan, 4) == 16
    assert check_plan(plan, 32, 4, (16, 16)) is None


@pytest.mark.parametrize(
    ("plan", "nodes", "sizes", "words"),
    [
        (ParallelPlan(ep=64), 32, (16, 16), "one rank for each of the 128 GPUs, or ask for 16 nodes"),
        (ParallelPlan(ep=63), 32, (16, 16), "one rank for each of the 128 GPUs"),
        (ParallelPlan(ep=128), 32, (16, 16), "this one fills 32 nodes, and slices have at most 16"),
        (ParallelPlan(tp=8, dp=9), 18, (9, 9), "multiples of 2 nodes, not 9"),
        (ParallelPlan(tp=8, ep=2, dp=5), 20, (12, 8), ""),
        (ParallelPlan(tp=8, ep=2, dp=5), 20, (10, 10), "multiples of 4 nodes, not 10"),
        (ParallelPlan(tp=3, dp=4), 3, (3,), ""),
        (ParallelPlan(tp=3, dp=8), 6, (4, 2), "multiples of 3 nodes, not 4"),
        (ParallelPlan(dp=4), 1, (1,), ""),
    ],
)
def test_plans_fit_or_are_told_what_would(plan: ParallelPlan, nodes: int, sizes: tuple[int, ...], words: str) -> None:
    problem = check_plan(plan, nodes, 4, sizes)
    assert (problem is None) is (words == "")
    assert problem is None or words in problem.expected


@given(
    tp=st.integers(1, 12),
    ep=st.integers(1, 12),
    pp=st.integers(1, 4),
    dp=st.integers(1, 4),
    gpus=st.sampled_from([1, 4, 8]),
    data=st.data(),
)
def test_slices_of_units_always_fit(tp: int, ep: int, pp: int, dp: int, gpus: int, data: st.DataObject) -> None:
    """Whatever the plan: slices that are multiples of its unit hold its groups whole."""
    plan = ParallelPlan(tp=tp, ep=ep, pp=pp, dp=dp)
    unit = unit_nodes(plan, gpus)
    assert unit * gpus % plan.group == 0
    if plan.gpus % (unit * gpus) == 0:
        units = plan.gpus // (unit * gpus)
        first = data.draw(st.integers(1, units))
        sizes = [unit * first] + ([unit * (units - first)] if units > first else [])
        assert check_plan(plan, sum(sizes), gpus, sizes) is None
