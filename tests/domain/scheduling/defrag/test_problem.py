"""What a problem reads from a state: who may move at which price, what stays and why, and what has to be free."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.domain.commands import NodeVerb, SetRackState
from clusters.domain.constraints import Layer, LevelMode
from clusters.domain.ids import HOUR, MINUTE
from clusters.domain.job_events import CheckpointReported
from clusters.domain.jobs import JobKind, Recovery
from clusters.domain.policy import Policy
from clusters.domain.racks import RackState
from clusters.domain.setting import Backfill
from clusters.domain.space_events import SpaceReserved
from scheduling.domain.defrag.model import Problem, Terms
from scheduling.domain.defrag.problem import problem_for_domains, problem_for_job
from scheduling.domain.trial import Trial
from scheduling.solver import solve
from tests.support.world import World, ask, racks


def world_of(count: int = 3, **policy: Any) -> World:
    return World(racks(count), Policy(backfill=Backfill.OFF, **policy))


def whole(world: World, **terms: Any) -> Problem:
    trial = Trial(world.state, world.now)
    problem = problem_for_domains(trial, 1, may_wait=terms.pop("may_wait", False), use_spares=True, terms=Terms(**terms))
    assert problem is not None
    return problem


def room_for(world: World, nodes: int, *, use_spares: bool = False, may_wait: bool = False, **fields: Any) -> Problem:
    name = world.submit(ask(nodes, held=True, **fields))
    trial = Trial(world.state, world.now)
    problem = problem_for_job(trial, world.job(name), may_wait=may_wait, use_spares=use_spares)
    assert problem is not None
    return problem


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"restartable": False}, "it cannot be restarted"),
        ({"kind": JobKind.INTERACTIVE}, "it is interactive"),
        ({"team": "red"}, "team red is exempt"),
        ({}, ""),
    ],
)
def test_work_stays_for_a_reason(fields: dict[str, Any], why: str) -> None:
    world = world_of()
    job = world.run(ask(4, **fields))
    problem = whole(world, exempt=frozenset({"red"}))
    assert [pin[2] for here in problem.domains for pin in here.pinned] == ([why] if why else [])
    assert [unit.pieces for unit in problem.units] == ([] if why else [((job.id, 0),)])


def test_work_that_moved_of_late_stays_and_so_does_what_is_promised() -> None:
    world = world_of()
    first = world.run(ask(4))
    waiting = world.submit(ask(16, held=True))
    world.add(SpaceReserved(job=waiting, nodes=("r3-n1",), starts_at=0, expires_at=None, reason="test"))
    problem = whole(world, cooling=frozenset({first.id}))
    assert problem.domains[0].pinned == ((first.id, 4, "it was moved of late"),)
    assert problem.domains[2].pinned == ((waiting, 1, "it is promised nodes there"),)
    assert problem.domains[2].free == 17


def test_racks_before_their_maintenance_serve_only_what_ends_in_time() -> None:
    world = world_of()
    for hours in (1, 9):
        world.run(ask(4, expected_run_s=hours * 3_600))
    shared = world.run(ask(gpus=1, expected_run_s=9 * 3_600))
    command = SetRackState(rack="r3", state=RackState.NO_NEW_LONG_JOBS, until=world.now + 4 * HOUR, by="op", reason="new pump")
    world.do(command)
    long, short = room_for(world, 16, expected_run_s=9 * 3_600), room_for(world, 16, expected_run_s=3_600)
    assert (long.targets, short.targets) == (0b011, 0b111)
    by_job = {unit.pieces[0][0]: unit.allowed >> 2 & 1 for unit in long.units}
    assert by_job == {job.id: job.request.expected_run_s == 3_600 for job in world.state.holders.values()}
    assert shared.id in by_job
    world.do(SetRackState(rack="r3", state=RackState.OPEN, by="op", reason="done"))
    assert room_for(world, 16, expected_run_s=9 * 3_600).targets == 0b111


def test_a_checkpoint_that_is_overdue_is_not_counted_on() -> None:
    world = world_of()
    job = world.run(ask(4, checkpoint_interval_s=600))
    world.add(CheckpointReported(job=job.id, generation=job.generation, step=1, at=world.now))
    world.now += 19 * MINUTE
    assert len(whole(world).units) == 1
    world.now += MINUTE
    assert [pin[2] for pin in whole(world).domains[0].pinned] == ["its last checkpoint is older than it declares"]


def test_prices_are_work_since_the_checkpoint_and_the_restart_weighted_by_priority() -> None:
    world = world_of()
    low = world.run(ask(4, priority=-5))
    high = world.run(ask(2, priority=5, recovery=Recovery.PEER))
    world.now += 10 * MINUTE
    problem = whole(world, may_wait=True)
    costs = {unit.pieces[0][0]: unit.cost for unit in problem.units}
    assert costs == {low.id: 4 * 4 * (600 + 120), high.id: 2 * 2 * 4 * (600 + 120)}
    assert [owner.wait for owner in problem.owners] == [4 * 4 * (600 + 120 + 3600), 2 * 2 * 4 * (600 + 120 + 3600)]


def test_a_job_of_several_slices_goes_back_to_its_checkpoint_once() -> None:
    world = world_of()
    world.run(ask(32))
    peer = world.run(ask(2, recovery=Recovery.PEER))
    world.now += 10 * MINUTE
    problem = whole(world)
    assert [owner.shared for owner in problem.owners] == [32 * 4 * 600, 0]
    assert [unit.cost for unit in problem.units] == [16 * 4 * 120, 16 * 4 * 120, 2 * 4 * 720]
    assert peer.id in problem.owners[1].jobs


def test_work_of_higher_priority_stays_and_only_lower_waits() -> None:
    world = world_of()
    jobs = {priority: world.run(ask(2, priority=priority)) for priority in (0, 5, 9)}
    problem = room_for(world, 16, priority=5, may_wait=True)
    assert {owner.jobs[0]: owner.wait is not None for owner in problem.owners} == {jobs[0].id: True, jobs[5].id: False}
    assert [pin[2] for here in problem.domains for pin in here.pinned] == ["it has a higher priority"]


def test_a_whole_rack_is_wanted_where_that_can_be_and_the_slice_alone_beside_it() -> None:
    world = world_of(2)
    world.run(ask(4))
    world.mark("r2-n1", NodeVerb.FAIL)
    problem = room_for(world, 16)
    assert [[way.need for way in problem.ways(index)] for index in range(2)] == [[18], [17]]
    narrow = problem.without_spares()
    assert narrow is not None
    assert [[way.need for way in narrow.ways(index)] for index in range(2)] == [[16], [16]]
    assert narrow.without_spares() is None


def test_moved_work_takes_spares_only_where_the_policy_says() -> None:
    world = world_of(1)
    world.run(ask(4))
    kept, used = (room_for(world, 16, use_spares=use).domains[0] for use in (False, True))
    assert (kept.free, kept.slack, kept.small_slack) == (14, 12, 12)
    assert (used.free, used.slack, used.small_slack) == (14, 14, 12)


def test_all_that_shares_a_node_moves_together_or_not_at_all() -> None:
    world = world_of()
    jobs = [world.run(ask(None, gpus=1)) for _ in range(2)]
    (unit,) = whole(world).units
    assert unit.pieces == tuple((job.id, 0) for job in jobs)
    assert (unit.size, unit.frees, unit.cost) == (1, 1, 2 * 120)
    world.run(ask(None, gpus=1, restartable=False))
    problem = whole(world)
    assert not problem.units
    assert [pin[1:] for pin in problem.domains[0].pinned] == [(1, "it cannot be restarted")]


def test_levels_and_layers_say_where_all_slices_lie() -> None:
    world = World(racks(4, per_block=2), Policy(backfill=Backfill.OFF))
    world.run(ask(4))
    assert room_for(world, 32, level="block", mode=LevelMode.REQUIRED).areas == (0b11, 0b1100)
    layered = room_for(world, 64, layers=(Layer(level="block", size=32),))
    assert layered.narrowed == "all its slices lie in one block"
    assert room_for(world, 32).areas == ()


def test_a_job_that_runs_and_is_whole_needs_no_room() -> None:
    world = world_of()
    job = world.run(ask(4))
    assert problem_for_job(Trial(world.state, world.now), job, may_wait=False, use_spares=True) is None


def test_no_more_domains_are_wanted_than_there_are() -> None:
    trial = Trial(world_of(2).state, 0)
    assert [problem_for_domains(trial, count, may_wait=False, use_spares=True) is None for count in range(4)] == [True, False, False, True]


def test_room_that_is_there_costs_nothing() -> None:
    world = world_of()
    world.run(ask(4))
    found = solve(room_for(world, 16), 10.0)
    assert found is not None
    assert (found.cost, found.moves, found.status) == (0, (), "optimal")


def test_a_slice_that_lost_its_node_asks_for_room_elsewhere() -> None:
    world = world_of(2, target_spares=0)
    for _ in range(2):
        world.run(ask(16))
    fill = [world.run(ask(1)) for _ in range(4)]
    job = world.state.jobs[next(iter(world.state.jobs))]
    world.mark(str(job.slices[0].nodes[0]), NodeVerb.FAIL)
    world.settle()
    assert job.id in world.state.lost
    problem = problem_for_job(Trial(world.state, world.now), job, may_wait=False, use_spares=True)
    assert problem is not None
    assert (problem.sizes, problem.counts) == ((16,), (1,))
    home = world.state.topology.domain_index[job.slices[0].domain]
    assert not problem.targets >> home & 1
    assert len(fill) == 4
