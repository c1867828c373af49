"""The cost model against sums done by hand, and what must hold of it whatever the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.constraints import ParallelPlan
from clusters.domain.errors import InvalidRequest
from scheduling.domain.parallelism.cost import Seconds, StepCost, Training, all_reduce, all_to_all, scatter, step_cost
from scheduling.domain.parallelism.fabric import Links, nvlink_links
from scheduling.domain.parallelism.models import MODELS, ModelShape, Sharding, fitting_models, model_named
from scheduling.domain.parallelism.ranks import coordinates
from scheduling.domain.parallelism.spread import one_domain, spread_of

LINKS = nvlink_links()


def test_inside_is_18_times_outside() -> None:
    """18 ports of 50 GB/s against one of 400 Gb/s, both in one direction."""
    assert (LINKS.inside, LINKS.outside, LINKS.ratio) == (900e9, 50e9, 18)
    assert nvlink_links(800).ratio == 9


def test_a_lost_switch_chip_takes_an_18th_and_a_lost_tray_two() -> None:
    assert nvlink_links(lost_chips=1).inside == pytest.approx(LINKS.inside * 17 / 18)
    assert nvlink_links(lost_chips=2).inside == pytest.approx(LINKS.inside * 16 / 18)


@pytest.mark.parametrize("wrong", [{"fabric_gbps": 0}, {"fabric_gbps": -1}, {"fabric_gbps": float("nan")}, {"lost_chips": 18}])
def test_links_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidRequest):
        nvlink_links(**wrong)  # type: ignore[arg-type]


def test_an_all_reduce_moves_twice_its_bytes_but_for_one_share() -> None:
    assert all_reduce(900e9, (8,), LINKS) == Seconds(inside=2 * 7 / 8)
    assert all_reduce(50e9, (1, 1, 1, 1), LINKS) == Seconds(outside=2 * 3 / 4)
    assert all_reduce(900e9, (4, 4), LINKS) == Seconds(inside=2 * 3 / 4, outside=2 * (1 / 2) * 900 / 4 / 50)


def test_an_all_to_all_sends_out_what_lies_outside() -> None:
    assert all_to_all(64 * 50e9, (64,), LINKS) == Seconds(inside=63 * 50 / 900)
    assert all_to_all(64 * 50e9, (48, 16), LINKS) == Seconds(inside=15 * 50 / 900, outside=48)


shares = st.lists(st.integers(1, 20), min_size=1, max_size=12).map(lambda parts: tuple(sorted(parts, reverse=True)))


@given(parts=shares, collective=st.sampled_from([all_reduce, scatter, all_to_all]), gbps=st.floats(1, 7200))
def test_leaving_a_domain_never_pays(parts: tuple[int, ...], collective: Callable[..., Seconds], gbps: float) -> None:
    """For every way to spread a group, while the way out is no faster than the way inside."""
    links = nvlink_links(gbps)
    assert collective(1e9, parts, links).total >= collective(1e9, (sum(parts),), links).total * (1 - 1e-12)


def told(seconds: Seconds) -> tuple[float, float]:
    return seconds.inside, seconds.outside


def spread(plan: ParallelPlan, nodes_a_domain: int) -> StepCost:
    domains = [rank // (4 * nodes_a_domain) for rank in range(plan.gpus)]
    return step_cost(Training(model=MODELS["deepseek-v3"], links=LINKS), plan, spread_of(domains, plan))


def test_a_group_of_64_experts_in_one_domain_by_hand() -> None:
    """58 MoE layers x 8 micro-batches x 4 all-to-alls of 4,096 tokens x 8 experts x 7,168 numbers of 2 bytes; 63 of 64 leave the GPU."""
    seconds = 58 * 8 * 4 * 4_096 * 8 * 7_168 * 2 * 63 / 64 / 900e9
    assert told(spread(ParallelPlan(ep=64), 16).ep) == pytest.approx((seconds, 0))


def test_packing_18_nodes_a_rack_tears_the_second_group_of_64() -> None:
    plan = ParallelPlan(ep=64, dp=2)
    sliced, packed, scattered = (spread(plan, nodes) for nodes in (16, 18, 1))
    assert sliced.ep.outside == 0
    assert 10 * sliced.ep.total < packed.ep.total < scattered.ep.total
    assert scattered.ep.total / sliced.ep.total == pytest.approx((3 / 900 + 60 / 50) / (63 / 900))


def test_tensor_parallel_terms_by_hand() -> None:
    """Four all-reduces a layer of 2,048 tokens x 12,288 numbers of 2 bytes, 8 micro-batches, 96 layers over 4 stages."""
    plan = ParallelPlan(tp=8, pp=4)
    training = Training(model=MODELS["gpt3-175b"], links=LINKS)
    size = 2_048 * 12_288 * 2
    cost = step_cost(training, plan, one_domain(plan))
    assert told(cost.tp) == pytest.approx((96 / 4 * 8 * 4 * 2 * 7 / 8 * size / 900e9, 0))
    assert told(cost.pp) == pytest.approx((8 * 2 * size / 8 / 900e9, 0))
    assert cost.ep == cost.dp == Seconds()


def test_sharded_in_full_costs_three_halves_of_a_step_for_each_micro_batch() -> None:
    plan = ParallelPlan(dp=64)
    once, full = (
        step_cost(Training(model=MODELS["llama-3.1-70b"], links=LINKS, sharding=sharding), plan, one_domain(plan)).dp.total
        for sharding in (Sharding.OPTIMIZER, Sharding.FULL)
    )
    assert once == pytest.approx(2 * 63 / 64 * 70.55e9 * 2 / 900e9)
    assert full == pytest.approx(once * 3 / 2 * 8)


def test_what_overlaps_with_compute_is_not_counted() -> None:
    plan = ParallelPlan(tp=8, dp=8)
    for overlap in (0.0, 0.75, 1.0):
        cost = step_cost(Training(model=MODELS["llama-3.1-70b"], links=LINKS, overlap=overlap), plan, one_domain(plan))
        assert cost.dp.total == pytest.approx((1 - overlap) * 2 * 7 / 8 * 70.55e9 / 8 * 2 / 900e9)
    with pytest.raises(InvalidRequest, match="share from 0 to 1"):
        Training(model=MODELS["llama-3.1-70b"], links=LINKS, overlap=1.5)


plans = st.builds(ParallelPlan, tp=st.integers(1, 4), ep=st.integers(1, 6), pp=st.integers(1, 4), dp=st.integers(1, 4))


@given(plan=plans, model=st.sampled_from(list(MODELS.values())), data=st.data())
def test_no_placement_is_cheaper_than_one_domain(plan: ParallelPlan, model: ModelShape, data: st.DataObject) -> None:
    domains = data.draw(st.lists(st.integers(0, 5), min_size=plan.gpus, max_size=plan.gpus))
    training = Training(model=model, links=LINKS)
    assert step_cost(training, plan, spread_of(domains, plan)).total >= step_cost(training, plan, one_domain(plan)).total * (1 - 1e-12)


@given(plan=plans)
def test_one_domain_is_what_its_name_says(plan: ParallelPlan) -> None:
    assert spread_of(["r1"] * plan.gpus, plan) == one_domain(plan)


@given(plan=plans, data=st.data())
def test_spreads_are_those_of_the_groups_counted_one_by_one(plan: ParallelPlan, data: st.DataObject) -> None:
    """Against the coordinates: ranks that agree in all others but one make a group."""
    domains = data.draw(st.lists(st.integers(0, 3), min_size=plan.gpus, max_size=plan.gpus))
    at = [coordinates(plan, rank) for rank in range(plan.gpus)]
    keys: dict[str, Callable[[int], object]] = {
        "tp": lambda rank: (at[rank].ep, at[rank].pp, at[rank].dp),
        "ep": lambda rank: (at[rank].tp, at[rank].pp, at[rank].dp),
        "dp": lambda rank: (at[rank].tp, at[rank].ep, at[rank].pp),
        "dense": lambda rank: (at[rank].tp, at[rank].pp),
    }
    found = spread_of(domains, plan)
    for axis, key in keys.items():
        groups: dict[object, list[int]] = {}
        for rank in range(plan.gpus):
            groups.setdefault(key(rank), []).append(domains[rank])
        counted = {tuple(sorted((group.count(domain) for domain in set(group)), reverse=True)) for group in groups.values()}
        assert getattr(found, axis) == counted
    where = dict(zip(at, domains, strict=True))
    apart = any(domain != where[replace(place, pp=place.pp + 1)] for place, domain in where.items() if place.pp + 1 < plan.pp)
    assert found.stages_apart is apart


def test_published_shapes_count_their_parameters() -> None:
    """DeepSeek-V3 has 671 B parameters, 37 B of them active: all but the experts, and 8 of 256 of those."""
    model = MODELS["deepseek-v3"]
    assert model.dense_parameters + model.expert_parameters * 8 / 256 == pytest.approx(37e9, rel=0.02)
    mixtral = MODELS["mixtral-8x7b"]
    assert mixtral.dense_parameters + mixtral.expert_parameters * 2 / 8 == pytest.approx(12.9e9, rel=0.02)
    assert all(model.source for model in MODELS.values())


def test_models_are_offered_that_a_plan_could_train() -> None:
    assert [model.name for model in fitting_models(64)] == ["deepseek-v3"]
    assert [model.name for model in fitting_models(8)] == ["mixtral-8x7b", "deepseek-v3"]
    assert {model.experts for model in fitting_models(1)} == {0}


def test_models_that_cannot_be_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="deepseek-v3"):
        model_named("deepseek")
    base = {"name": "own", "layers": 2, "hidden": 8, "parameters": 1e6, "sequence": 4}
    for wrong in (
        {"layers": 0},
        {"parameters": 0},
        {"moe_layers": 3},
        {"top_k": 1},
        {"experts": 100, "moe_layers": 2, "expert_hidden": 8_000},
    ):
        with pytest.raises(InvalidRequest):
            ModelShape(**{**base, **wrong})  # type: ignore[arg-type]


def test_times_add_up() -> None:
    assert Seconds(inside=1, outside=2).plus(Seconds(inside=3)).times(2) == Seconds(inside=8, outside=4)
    assert Links(inside=2, outside=1).ratio == 2
