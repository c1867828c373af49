"""Advice on slice sizes, reports, and the figures that stand beside them."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clusters.domain.constraints import ParallelPlan
from clusters.domain.errors import InvalidRequest
from scheduling.domain.parallelism.advice import Fleet, advise_slice, better_slice, is_power_of_two
from scheduling.domain.parallelism.check import check_plan
from scheduling.domain.parallelism.fabric import nvlink_links
from scheduling.domain.parallelism.models import MODELS
from scheduling.domain.parallelism.published import PUBLISHED, kv_cache_gain
from scheduling.domain.parallelism.ranks import rank_map
from scheduling.domain.parallelism.report import Setting, parallel_report, placed_report
from tests.domain.parallelism.placed import whole

NVL72 = Fleet(gpus_per_node=4, domain_nodes=18)
SETTING = Setting(links=nvlink_links())


@pytest.mark.parametrize(
    ("plan", "size", "slices"),
    [
        (ParallelPlan(ep=64), 16, (16,)),
        (ParallelPlan(tp=8, ep=8, dp=4), 16, (16,) * 4),
        (ParallelPlan(tp=8, dp=12), 8, (8, 8, 8)),
        (ParallelPlan(tp=8, dp=10), 10, (10, 10)),
        (ParallelPlan(tp=4, dp=18), 9, (9, 9)),
        (ParallelPlan(ep=72), 18, (18,)),
        (ParallelPlan(dp=4), 1, (1,)),
        (ParallelPlan(tp=8, dp=2), 4, (4,)),
    ],
)
def test_the_slice_that_suits_a_plan(plan: ParallelPlan, size: int, slices: tuple[int, ...]) -> None:
    best = advise_slice(plan, NVL72).best
    assert best is not None
    assert (best.size, best.slices) == (size, slices)


def test_advice_says_why() -> None:
    assert advise_slice(ParallelPlan(ep=64, dp=2), NVL72).why == (
        "the TP x EP group of 64 GPUs: whole groups fill multiples of 16 nodes of 4 GPUs",
        "each slice holds whole groups, 1 where it has 16 nodes, so none leaves its domain",
        "64 GPUs are a power of two, which groups of a power of two tile",
        "2 of the 18 nodes of a domain stay beside it, for spares and other work",
    )


def test_slices_that_suit_better_are_named() -> None:
    plan = ParallelPlan(tp=8, dp=12)
    words = "for the groups of its plan max_slice 8 would give slices of 32 GPUs, a power of two, with 10 nodes of the domain beside them"
    assert better_slice(plan, NVL72, (12, 12)) == words
    assert better_slice(plan, NVL72, (8, 8, 8)) == ""
    assert better_slice(ParallelPlan(tp=6), NVL72, (2,)) == ""
    assert (
        better_slice(ParallelPlan(tp=8, dp=9), NVL72, (18,))
        == "for the groups of its plan max_slice 10 would give slices of 10 nodes, with 8 nodes of the domain beside them"
    )


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (ParallelPlan(ep=128), "ep 64 would fit"),
        (ParallelPlan(tp=8, ep=64), "ep 8 would fit"),
        (ParallelPlan(tp=128), "give a tp of at most 72"),
        (ParallelPlan(tp=3, ep=4, dp=1, pp=1), ""),
    ],
)
def test_a_group_wider_than_a_domain_gets_what_would_fit(plan: ParallelPlan, words: str) -> None:
    advice = advise_slice(plan, NVL72)
    assert (advice.best is None) is bool(words)
    assert words in advice.why[-1]


def test_ranks_that_leave_a_node_half_used_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="multiple of 4"):
        advise_slice(ParallelPlan(tp=6), NVL72)
    with pytest.raises(InvalidRequest, match="no nodes yet"):
        Fleet(gpus_per_node=0, domain_nodes=18)


@given(
    plan=st.builds(
        ParallelPlan, tp=st.integers(1, 16), ep=st.sampled_from([1, 2, 4, 8, 16, 64]), pp=st.integers(1, 4), dp=st.integers(1, 16)
    ),
    gpus=st.sampled_from([1, 4, 8]),
    domain=st.sampled_from([1, 9, 18, 72]),
)
def test_whatever_is_advised_holds_the_plan(plan: ParallelPlan, gpus: int, domain: int) -> None:
    assume(plan.gpus % gpus == 0)
    advice = advise_slice(plan, Fleet(gpus_per_node=gpus, domain_nodes=domain))
    for choice in advice.choices:
        assert check_plan(plan, advice.nodes, gpus, choice.slices) is None
        assert max(choice.slices) + choice.spares == domain
        assert choice.power_of_two is all(is_power_of_two(size * gpus) for size in choice.slices)
    if advice.best is None:
        assert check_plan(plan, advice.nodes, gpus, [advice.nodes]) is not None or advice.unit > domain


def test_the_report_compares_slices_with_worse_places() -> None:
    report = parallel_report(ParallelPlan(ep=64, dp=2), NVL72, [MODELS["deepseek-v3"]], SETTING)
    assert report["advice"]["max_slice"] == 16
    placements = {placement["name"]: placement for placement in report["costs"][0]["placements"]}
    assert [placement["groups_whole"] for placement in placements.values()] == [True, False, False]
    assert placements["sliced"]["ratio"] == 1
    assert 1 < placements["packed"]["ratio"] < placements["scattered"]["ratio"]
    assert report["links"] == {"inside_gbs": 900, "outside_gbs": 50, "ratio": 18, "fabric_from": "default"}


def test_a_plan_without_a_place_is_told_what_worse_ones_cost() -> None:
    report = parallel_report(ParallelPlan(ep=128), NVL72, [MODELS["deepseek-v3"]], SETTING)
    assert report["advice"]["max_slice"] is None
    assert [placement["name"] for placement in report["costs"][0]["placements"]] == ["packed", "scattered"]


def test_a_placed_job_is_compared_with_worse_places() -> None:
    ranks = rank_map([whole("r1", 16), whole("r2", 16)], ParallelPlan(ep=64, dp=2))
    report = placed_report(ranks, NVL72, SETTING)
    assert report is not None
    assert report["costs"][0]["model"] == "deepseek-v3"
    assert [placement["name"] for placement in report["costs"][0]["placements"]] == ["here", "packed", "scattered"]
    assert placed_report(rank_map([whole("r1", 16)], None), NVL72, SETTING) is None
    assert placed_report(rank_map([whole("r1", 16)], ParallelPlan(tp=8)), NVL72, SETTING) is None


def test_a_job_on_one_gpu_costs_nothing_and_has_no_ratio() -> None:
    report = parallel_report(ParallelPlan(dp=1), Fleet(gpus_per_node=1, domain_nodes=1), [MODELS["gpt3-175b"]], SETTING)
    assert [placement["ratio"] for placement in report["costs"][0]["placements"]] == [None, None, None]


def test_published_figures_are_texts_and_nothing_computes_them() -> None:
    assert [figure.figure for figure in PUBLISHED] == ["-43 %", "up to 60 %", "3.9x", "up to 4.4x", "+14.4 %"]
    assert all(figure.source and figure.what for figure in PUBLISHED)


def test_the_gain_in_kv_cache_is_a_sum_of_memory_with_one_fitted_number() -> None:
    assert kv_cache_gain() == pytest.approx(13.9, abs=0.05)
    assert kv_cache_gain(tp=1) == 1
    with pytest.raises(ValueError, match="GB of weights"):
        kv_cache_gain(working_gb=10)
