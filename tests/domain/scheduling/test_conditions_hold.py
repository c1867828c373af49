"""What a job asked of where it runs holds for as long as it runs: through swaps, moves, other jobs, and stops that take their time."""

from __future__ import annotations

from clusters.domain.commands import CancelJob, NodeVerb
from clusters.domain.constraints import JobPart, Layer, LevelMode
from clusters.domain.dump import dump_state, load_state
from clusters.domain.health_events import NodeDraining
from clusters.domain.job_events import JobBlocked, NodeSwapped, SliceMoved, SliceStalled
from clusters.domain.jobs import JobState
from clusters.domain.policy import Policy
from clusters.domain.setting import Backfill
from scheduling.domain.recovery import recover
from scheduling.domain.refusals import explain
from scheduling.domain.trial import Trial
from scheduling.domain.waiting import refusal_now
from tests.support.world import World, ask, racks

REQUIRED = LevelMode.REQUIRED


def _fail(world: World, *nodes: str) -> None:
    for node in nodes:
        world.mark(node, NodeVerb.FAIL)


def _domains(world: World, name: str) -> list[str]:
    return [part.domain for part in world.job(name).slices]


def _code(world: World, name: str) -> str:
    return world.job(name).blocked


# ---- exclusive


def test_nobody_enters_the_domain_of_exclusive_work_and_it_enters_nobodys() -> None:
    world = World(racks(2, nodes=4), Policy(target_spares=0, slice_size=4, backfill=Backfill.OFF))
    alone = world.run(ask(2, exclusive=True))
    small = world.run(ask(gpus=1))
    assert ([part.domain for part in alone.slices], [part.domain for part in small.slices]) == (["r1"], ["r2"])
    wide, second = world.submit(ask(4)), world.submit(ask(1, exclusive=True))
    world.settle()
    assert (_domains(world, wide), _domains(world, second)) == ([], [])
    world.finish(small.id)
    world.settle()
    assert (_domains(world, wide), _domains(world, second)) == (["r2"], [])
    world.finish(alone.id)
    world.settle()
    assert _domains(world, second) == ["r1"]


def test_its_domain_stays_closed_until_its_work_has_stopped() -> None:
    world = World(racks(1, nodes=4), Policy(target_spares=0))
    alone = world.run(ask(1, exclusive=True))
    waiting = world.submit(ask(1))
    world.run_pass()
    world.do(CancelJob(job=alone.id, by="ada"))
    world.run_pass()
    assert _domains(world, waiting) == []  # the connector has not reported yet
    world.settle()
    assert _domains(world, waiting) == ["r1"]
    assert world.state.exclusive == set()


def test_exclusive_work_swaps_inside_its_domain_and_moves_only_into_an_empty_one() -> None:
    world = World(racks(3, nodes=4), Policy(target_spares=0, slice_size=3))
    alone = world.run(ask(3, exclusive=True))
    other = world.run(ask(1))
    assert [part.domain for part in other.slices] == ["r2"]
    _fail(world, "r1-n1")
    assert [type(event) for event in world.settle()] == [NodeSwapped]
    _fail(world, "r1-n2")
    (moved, *_) = world.run_pass()
    assert isinstance(moved, SliceMoved)
    assert moved.assignment.domain == "r3"
    late = world.submit(ask(1))
    world.run_pass()
    assert _domains(world, late) == ["r2"]  # in r1 its work has not stopped
    world.settle()
    assert world.state.space.closed == 0b100
    _fail(world, "r3-n1", "r3-n2")
    (stalled,) = world.settle()
    assert isinstance(stalled, SliceStalled)
    assert world.job(alone.id).state is JobState.STALLED
    assert _domains(world, world.submit(ask(1))) == []
    world.settle()
    assert world.state.space.closed == 0b100  # what it has left it keeps for itself


def test_every_view_of_a_decision_sees_what_exclusive_work_closes_when_it_moves() -> None:
    world = World(racks(3, nodes=4), Policy(target_spares=0, slice_size=4))
    world.run(ask(4, exclusive=True))
    _fail(world, "r1-n1", "r1-n2", "r1-n3", "r1-n4")
    trial = Trial(world.state, 0)
    trial.views.close_rack(1, ["r3-n1"])
    views = [trial.space, trial.views.space(1)]
    assert [space.closed for space in views] == [0b1, 0b1]
    assert len(list(recover(trial))) == 1
    assert [space.closed for space in views] == [0b10, 0b10]


def test_a_snapshot_knows_who_is_alone_and_where_nodes_have_failed() -> None:
    world = World(racks(2))
    job = world.run(ask(4, exclusive=True))
    world.now = 77
    _fail(world, "r2-n3")
    again = load_state(dump_state(world.state))
    assert (again.exclusive, again.space.closed, again.space.failures) == ({job.id}, 0b1, [(77, 1)])
    assert dump_state(again) == dump_state(world.state)


# ---- levels, layers, parts


def test_a_slice_moves_only_inside_the_block_that_its_job_requires() -> None:
    world = World(racks(6, nodes=4, per_block=3), Policy(target_spares=0, slice_size=4))
    job = world.run(ask(8, level="block", mode=REQUIRED))
    assert [part.domain for part in job.slices] == ["r1", "r2"]
    filler = world.run(ask(4))
    assert [part.domain for part in filler.slices] == ["r3"]
    _fail(world, "r1-n1")
    (stalled,) = world.settle()
    assert isinstance(stalled, SliceStalled)
    world.finish(filler.id)
    world.settle()
    assert [part.domain for part in job.slices] == ["r3", "r2"]


def test_a_slice_without_a_level_moves_to_another_block() -> None:
    world = World(racks(6, nodes=4, per_block=3), Policy(target_spares=0, slice_size=4))
    job = world.run(ask(8))
    world.run(ask(4))
    _fail(world, "r1-n1")
    world.settle()
    assert [part.domain for part in job.slices] == ["r4", "r2"]


def test_a_slice_stays_with_its_run_and_a_run_that_is_one_slice_goes_anywhere() -> None:
    world = World(racks(6, nodes=4, per_block=3), Policy(target_spares=0, slice_size=4))
    job = world.run(ask(16, layers=(Layer(level="block", size=8),)))
    assert [part.domain for part in job.slices] == ["r1", "r2", "r4", "r5"]
    world.run(ask(4))
    _fail(world, "r4-n1")
    world.settle()
    assert [part.domain for part in job.slices] == ["r1", "r2", "r6", "r5"]
    _fail(world, "r1-n1")
    assert [type(event) for event in world.settle()] == [SliceStalled]


def test_a_slice_of_a_part_stays_where_that_part_must_be() -> None:
    world = World(racks(6, nodes=4, per_block=3), Policy(target_spares=0, slice_size=4))
    trainer = JobPart(name="trainer", nodes=8, level="block", mode=REQUIRED)
    job = world.run(ask(12, parts=(trainer, JobPart(name="rollout", nodes=4))))
    assert [part.domain for part in job.slices] == ["r1", "r2", "r3"]
    _fail(world, "r3-n1", "r1-n1")
    world.settle()
    assert job.state is JobState.STALLED
    assert [part.domain for part in job.slices] == ["r1", "r2", "r4"]


# ---- incidents


def test_a_domain_in_which_a_node_failed_is_chosen_last_for_as_long_as_the_policy_says() -> None:
    world = World(racks(2), Policy(incident_memory_s=600))
    _fail(world, "r1-n1")
    world.mark("r1-n1", NodeVerb.REPAIR)
    first = world.run(ask(2))
    assert [part.domain for part in first.slices] == ["r2"]
    world.finish(first.id)
    world.settle()
    world.now = 600_000_000
    assert [part.domain for part in world.run(ask(2)).slices] == ["r1"]


# ---- causes


def test_a_request_that_only_min_spares_keeps_waiting_is_told_so() -> None:
    world = World(racks(1), Policy(min_spares=2))
    world.run(ask(1))
    name = world.submit(ask(16))
    world.settle()
    assert _code(world, name) == "policy"
    refusal = refusal_now(Trial(world.state, 0), world.job(name))
    assert refusal is not None
    assert explain(refusal).endswith("would fit if the policy did not keep 2 free in each domain")


def test_a_request_that_only_nodes_that_are_out_keep_waiting_is_told_so() -> None:
    world = World(racks(1))
    for node in (1, 2, 3):
        world.add(NodeDraining(node=f"r1-n{node}", reason="work"))
    name = world.submit(ask(16))
    world.settle()
    assert _code(world, name) == "health"
    refusal = refusal_now(Trial(world.state, 0), world.job(name))
    assert refusal is not None
    assert explain(refusal).endswith("15 nodes free in 1 domain; 3 nodes draining; would fit if they were well")


def test_nodes_that_are_out_are_no_cause_where_work_is_in_the_way_or_other_work_could_move() -> None:
    world = World(racks(2))
    world.run(ask(16))
    world.run(ask(4, spares=0))
    world.add(NodeDraining(node="r2-n18", reason="work"))
    taken = world.submit(ask(16))
    world.settle()
    assert _code(world, taken) == "capacity-blocked"  # even with that node r2 would have 14
    world = World(racks(2))
    world.run(ask(1))
    world.run(ask(15, spares=0))
    for node in (17, 18):
        world.add(NodeDraining(node=f"r2-n{node}", reason="work"))
    blocked = world.submit(ask(17, slice_size=17))
    (event,) = [event for event in world.settle() if isinstance(event, JobBlocked)]
    assert (event.job, event.code) == (blocked, "topology-blocked")
