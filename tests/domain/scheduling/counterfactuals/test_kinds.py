"""Each kind of answer: what it says, and that the job starts once it is made true."""

from __future__ import annotations

from clusters.domain.commands import HoldJob, NodeVerb
from clusters.domain.ids import HOUR, MINUTE, SECOND
from clusters.domain.policy import Policy
from clusters.domain.teams import Quota
from scheduling.domain.counterfactuals import Counterfactual, Kind
from tests.domain.scheduling.counterfactuals.applying import asked, comes_true
from tests.support.world import World, ask, racks


def answer(world: World, job: str, kind: Kind) -> Counterfactual:
    """The answer of that kind, which comes true."""
    world.settle()
    found = asked(world, job)
    assert kind in found, list(found)
    for each in found.values():
        assert comes_true(world, job, each), each
    return found[kind]


def full(world: World, *nodes: int, **fields: object) -> list[str]:
    """Running jobs of these sizes."""
    return [world.run(ask(count, **fields)).id for count in nodes]


def fail(world: World, rack: int, *nodes: int) -> None:
    for node in nodes:
        world.mark(f"r{rack}-n{node}", NodeVerb.FAIL)
    world.settle()


# ---- ends


def test_the_job_that_ends_first_of_those_that_would_do() -> None:
    world = World(racks(2))
    (slow,) = full(world, 16, time_limit_s=7200)
    (quick,) = full(world, 16, time_limit_s=2400)
    found = answer(world, world.submit(ask(16)), Kind.END)
    assert found.params == {"jobs": (quick,)}
    assert found.text == f"it starts in about 41 min, when {quick} ends"
    assert found.at == (2400 + 60) * SECOND
    assert slow not in found.text


def test_only_the_ends_that_it_takes_are_named() -> None:
    world = World(racks(2))
    jobs = [*full(world, 8, time_limit_s=3600), *full(world, 8, time_limit_s=7200)]
    others = [*full(world, 8, time_limit_s=1800), *full(world, 8, time_limit_s=36000)]
    found = answer(world, world.submit(ask(16)), Kind.END)
    assert found.params == {"jobs": tuple(jobs)}
    assert not set(others) & set(jobs)


def test_where_a_job_ahead_takes_the_room_that_there_is_more_must_end() -> None:
    """Nobody has looked yet: there is room for one of the two, and the older one takes it."""
    world = World(racks(2))
    (running,) = full(world, 16, time_limit_s=3600)
    world.submit(ask(16))
    found = asked(world, world.submit(ask(16)))[Kind.END]
    assert found.params == {"jobs": (running,)}


def test_a_time_that_only_the_policy_knows_is_said_to_be_taken() -> None:
    world = World(racks(1))
    (job,) = full(world, 16)
    found = answer(world, world.submit(ask(16)), Kind.END)
    assert found.text == f"it starts in about 24 h, when {job} ends, taken to run as long as the policy says"


# ---- moves and preemption


def run_in(world: World, rack: int, nodes: int, **fields: object) -> str:
    """A job that runs in this rack: the others are drained meanwhile."""
    others = [node.name for node in world.state.nodes.values() if node.rack != f"r{rack}"]
    for name in others:
        world.mark(name, NodeVerb.DRAIN)
    job = world.run(ask(nodes, **fields)).id
    for name in others:
        world.mark(name, NodeVerb.UNDRAIN)
    return job


def test_the_cheapest_work_of_one_domain_moves_to_a_proven_place() -> None:
    world = World(racks(3))
    run_in(world, 1, 6)
    run_in(world, 3, 8, restartable=False)
    world.now = HOUR
    young = run_in(world, 2, 6)
    world.now = 90 * MINUTE
    found = answer(world, world.submit(ask(16)), Kind.MOVE)
    assert found.text == f"it would start if {young} moved from r2 to r3"
    assert found.cost_gpu_hours == 6 * 4 * 0.5
    assert found.params["jobs"] == (young,)


def test_work_that_has_no_other_place_is_not_moved() -> None:
    world = World(racks(2))
    full(world, 8, 8, restartable=True)
    full(world, 12, restartable=False)
    job = world.submit(ask(16))
    world.settle()
    assert Kind.MOVE not in asked(world, job)


def test_work_of_less_priority_gives_way() -> None:
    world = World(racks(1))
    low = full(world, 8, priority=-5)
    full(world, 8, restartable=False, priority=-9)
    job = world.submit(ask(8))
    world.settle()
    assert answer(world, job, Kind.PREEMPT).params["jobs"] == tuple(low)
    equal = world.submit(ask(8, priority=-5))
    world.settle()
    assert Kind.PREEMPT not in asked(world, equal)


def test_several_give_way_where_it_takes_several_domains() -> None:
    world = World(racks(2))
    low = full(world, 16, 16, priority_class="batch")
    found = answer(world, world.submit(ask(32)), Kind.PREEMPT)
    assert found.params["jobs"] == tuple(low)
    assert found.text == f"it would start if {low[0]} and {low[1]} gave way, of less priority"


# ---- asking for less


def test_the_largest_smaller_slice_and_the_most_nodes() -> None:
    world = World(racks(3))
    full(world, 10, 10, 10, max_slice=10, restartable=False)
    job = world.submit(ask(16))
    assert answer(world, job, Kind.SLICE).params == {"max_slice": 8}
    assert answer(world, job, Kind.SIZE).params == {"nodes": 6}


def test_a_unit_allows_no_smaller_slice() -> None:
    world = World(racks(3))
    full(world, 10, 10, 10, max_slice=10, restartable=False)
    job = world.submit(ask(16, slice_size=16))
    world.settle()
    assert Kind.SLICE not in asked(world, job)


def test_fewer_gpus_of_a_node() -> None:
    world = World(racks(1, nodes=1))
    world.run(ask(gpus=2))
    found = answer(world, world.submit(ask(gpus=3)), Kind.SIZE)
    assert found.params == {"gpus": 2}
    assert found.text == "it would start now with 2 GPUs"


# ---- the policy


def test_spares_that_must_stay() -> None:
    world = World(racks(1), Policy(min_spares=2, slice_size=18))
    full(world, 1)
    found = answer(world, world.submit(ask(16)), Kind.POLICY)
    assert found.params == {"setting": "min_spares", "value": 1}
    assert found.text == "it would start if the policy's min_spares were 1 instead of 2"


def test_spares_that_a_domain_owes() -> None:
    world = World(racks(1))
    full(world, 16)
    found = answer(world, world.submit(ask(1, restartable=False)), Kind.POLICY)
    assert found.params == {"setting": "target_spares", "value": 1}


# ---- terms


def test_a_held_job_is_released() -> None:
    world = World(racks(1))
    job = world.submit(ask(16, held=True))
    assert answer(world, job, Kind.RELEASE).text == "it would start if it were released"
    waiting = world.submit(ask(16))
    world.do(HoldJob(job=waiting, by="ada"))
    assert Kind.RELEASE in asked(world, waiting)
    full(world, 16)
    assert asked(world, waiting) == {}, "released, it would have no room"


def test_other_jobs_finish() -> None:
    world = World(racks(1))
    (first,) = full(world, 16, time_limit_s=3600)
    found = answer(world, world.submit(ask(16, after=(first,))), Kind.AFTER)
    assert found.params == {"jobs": (first,)}
    assert found.text == f"it starts in about 61 min, when {first} has finished"


def test_its_time_comes() -> None:
    world = World(racks(1))
    found = answer(world, world.submit(ask(16, not_before=3 * HOUR)), Kind.TIME)
    assert (found.at, found.params) == (3 * HOUR, {"not_before": 3 * HOUR})
    assert found.text == "it starts in about 3 h, when its time has come"


def test_its_team_uses_less() -> None:
    world = World(racks(3), Policy(quotas=(Quota(team="red", gpus=64, borrow=0),)))
    full(world, 8, team="red")
    (long,) = full(world, 4, team="red", time_limit_s=36000)
    (short,) = full(world, 4, team="red", time_limit_s=2400)
    found = answer(world, world.submit(ask(4, team="red")), Kind.QUOTA)
    assert found.params == {"team": "red", "gpus": 16, "jobs": (short,)}
    assert found.text == f"it starts in about 41 min, when team red has freed 16 GPUs, those of {short}"
    assert long not in found.text


# ---- nothing to say


def test_a_job_that_runs_or_is_about_to_has_no_question() -> None:
    world = World(racks(1))
    (job,) = full(world, 8)
    assert asked(world, job) == {}
    assert asked(world, world.submit(ask(8))) == {}
