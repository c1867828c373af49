"""The rank order of placed jobs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.commands import NodeVerb
from clusters.domain.constraints import ParallelPlan
from clusters.domain.decision import Refusal
from clusters.domain.policy import Policy
from clusters.domain.state import Job
from scheduling.domain.parallelism.check import check_plan, unit_nodes
from scheduling.domain.parallelism.ranks import Coordinates, Rank, coordinates, rank_map
from scheduling.domain.placement import place
from tests.domain.parallelism.placed import placed, whole
from tests.domain.scheduling.worlds import space_of
from tests.support.world import World, ask, racks


def test_ranks_run_tensor_parallel_first_then_expert_stage_and_replica() -> None:
    plan = ParallelPlan(tp=2, ep=3, pp=2, dp=2)
    assert coordinates(plan, 0) == Coordinates(tp=0, ep=0, pp=0, dp=0)
    assert coordinates(plan, 7) == Coordinates(tp=1, ep=0, pp=1, dp=0)
    assert coordinates(plan, 23) == Coordinates(tp=1, ep=2, pp=1, dp=1)


def test_each_rank_names_its_gpu() -> None:
    ranks = rank_map([whole("r1", 2), whole("r2", 2)], ParallelPlan(tp=8, dp=2)).ranks
    assert ranks[9] == Rank(rank=9, node="r2-n1", gpu=1, slice=1, slot=0, domain="r2", at=Coordinates(tp=1, ep=0, pp=0, dp=1))


def test_without_a_plan_there_are_ranks_and_no_coordinates() -> None:
    found = rank_map([whole("r1", 2)], None)
    assert [(rank.rank, rank.node, rank.gpu) for rank in found.ranks][3:5] == [(3, "r1-n1", 3), (4, "r1-n2", 0)]
    assert {rank.at for rank in found.ranks} == {None}
    assert found.problem == ""


def test_a_plan_of_another_size_is_told_and_gives_no_coordinates() -> None:
    found = rank_map([whole("r1", 2)], ParallelPlan(tp=4))
    assert found.problem == "the plan has 4 ranks, the job 8 GPUs"
    assert {rank.at for rank in found.ranks} == {None}


def test_slices_of_one_domain_hold_a_group_together_where_neither_does_alone() -> None:
    found = rank_map([whole("r1", 3), whole("r2", 2), whole("r1", 1)], ParallelPlan(tp=8, dp=3))
    assert found.problem == ""
    assert [rank.slice for rank in found.ranks[::4]] == [0, 0, 0, 2, 1, 1]


def test_a_group_that_leaves_its_domain_is_counted() -> None:
    assert rank_map([whole("r1", 3), whole("r2", 1)], ParallelPlan(tp=8, dp=2)).problem == "1 of 2 TP x EP groups leave their domain"


plans = st.builds(
    ParallelPlan, tp=st.sampled_from([1, 2, 3, 4, 8]), ep=st.sampled_from([1, 2, 4, 8, 16]), pp=st.integers(1, 4), dp=st.integers(1, 3)
)


@given(
    plan=plans,
    free=st.lists(st.integers(0, 18), min_size=1, max_size=8),
    gpus=st.sampled_from([4, 8]),
    slice_size=st.sampled_from([None, 8, 16, 17]),
    times=st.integers(1, 3),
)
def test_no_group_leaves_its_domain_where_the_engine_placed_it(
    plan: ParallelPlan, free: list[int], gpus: int, slice_size: int | None, times: int
) -> None:
    """Random plans on random fleets: whatever is placed with a plan keeps each of its groups, and each GPU has one rank."""
    unit = unit_nodes(plan, gpus)
    nodes = times * plan.pp * unit
    plan = ParallelPlan(tp=plan.tp, ep=plan.ep, pp=plan.pp, dp=nodes * gpus // (plan.group * plan.pp))
    space = space_of({f"r{number}": nodes for number, nodes in enumerate(free)}, gpus=gpus)
    placement = place(space, ask(nodes, plan=plan), Policy(slice_size=slice_size))
    if isinstance(placement, Refusal):
        return
    assert check_plan(plan, nodes, gpus, [len(part.nodes) for part in placement]) is None
    slices = [whole(part.domain, len(part.nodes), gpus) for part in placement]
    found = rank_map(slices, plan)
    assert found.problem == ""
    assert [rank.rank for rank in found.ranks] == list(range(plan.gpus))
    assert len({(rank.node, rank.slice, rank.gpu) for rank in found.ranks}) == plan.gpus
    assert len({rank.at for rank in found.ranks}) == plan.gpus
    groups: dict[tuple[int, int], set[str]] = {}
    for rank in found.ranks:
        assert rank.at is not None
        groups.setdefault((rank.at.pp, rank.at.dp), set()).add(rank.domain)
    assert all(len(domains) == 1 for domains in groups.values())


@given(plan=plans, rank=st.integers(0, 10_000))
def test_the_next_stage_is_the_neighbouring_group(plan: ParallelPlan, rank: int) -> None:
    rank %= plan.gpus
    here = coordinates(plan, rank)
    if here.pp + 1 < plan.pp:
        assert coordinates(plan, rank + plan.group) == Coordinates(tp=here.tp, ep=here.ep, pp=here.pp + 1, dp=here.dp)


def ranks_of(world: World, job: Job) -> tuple[Rank, ...]:
    return rank_map(placed(world.state, job), ParallelPlan(tp=8, pp=4, dp=4)).ranks


@given(place=st.integers(0, 31))
def test_a_swap_changes_the_ranks_of_the_swapped_node_and_no_others(place: int) -> None:
    world = World(racks(2), checked=False)
    job = world.run(ask(32))
    before = ranks_of(world, job)
    failed = before[4 * place].node
    assert failed is not None
    world.mark(failed, NodeVerb.FAIL)
    world.settle()
    after = ranks_of(world, job)
    changed = [rank.rank for rank, old in zip(after, before, strict=True) if rank != old]
    assert changed == list(range(4 * place, 4 * place + 4))
    assert {after[rank].node for rank in changed} & {rank.node for rank in before} == set()
    assert [rank.domain for rank in after] == [rank.domain for rank in before]


@given(places=st.lists(st.integers(0, 31), max_size=8), plan=st.sampled_from([ParallelPlan(ep=64, dp=2), ParallelPlan(tp=8, pp=4, dp=4)]))
def test_groups_stay_whole_through_swaps_and_moves(places: list[int], plan: ParallelPlan) -> None:
    """Whatever fails: each rank that has a node has it in the domain of its group, and slots keep their ranks."""
    world = World(racks(4), checked=False)
    job = world.run(ask(32, plan=plan))
    slots = [(rank.slice, rank.slot, rank.gpu) for rank in rank_map(placed(world.state, job), plan).ranks]
    for failing in places:
        part, slot = divmod(failing, 16)
        failed = job.slices[part].nodes[slot]
        if failed is not None:
            world.mark(failed, NodeVerb.FAIL)
            world.settle()
        if job.lost_slots:
            return
        found = rank_map(placed(world.state, job), plan)
        assert found.problem == ""
        assert [(rank.slice, rank.slot, rank.gpu) for rank in found.ranks] == slots


def test_a_move_changes_the_ranks_of_the_moved_slice_and_no_others() -> None:
    world = World(racks(3))
    job = world.run(ask(32))
    before = ranks_of(world, job)
    for node in [rank.node for rank in before[:12:4]]:
        assert node is not None
        world.mark(node, NodeVerb.FAIL)
        world.settle()
    after = ranks_of(world, job)
    assert job.moves == 1
    assert [rank.rank for rank, old in zip(after, before, strict=True) if rank != old] == list(range(64))
    assert {rank.domain for rank in after[:64]} == {"r3"}
