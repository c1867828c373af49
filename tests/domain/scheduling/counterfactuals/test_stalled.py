"""A job of which a slice has lost nodes and has no place: what it lacks, and that it goes on once an answer is made true."""

from __future__ import annotations

from clusters.domain import health_events as hev
from clusters.domain.commands import NodeVerb, SetRackState
from clusters.domain.decision import Decision
from clusters.domain.ids import HOUR
from clusters.domain.jobs import JobState
from clusters.domain.policy import Policy
from clusters.domain.racks import RackState
from clusters.domain.setting import DefragMode
from scheduling.domain.counterfactuals import Counterfactual, Kind
from scheduling.domain.stalls import ShortSlice
from scheduling.domain.why import Why, why
from tests.domain.scheduling.counterfactuals.applying import asked, comes_true
from tests.domain.scheduling.defrag.stories import propose
from tests.support.world import World, ask, racks

#: No spares, so that each loss needs a node that is free by itself.
BARE = Policy(target_spares=0, slice_size=4, defrag_mode=DefragMode.SUGGEST)


def stalled(world: World, job: str, *nodes: str) -> str:
    """The job, once these nodes of it have failed and no place was found."""
    for node in nodes:
        world.mark(node, NodeVerb.FAIL)
    world.settle()
    assert world.job(job).state is JobState.STALLED
    return job


def beside(world: World, nodes: int, **fields: object) -> str:
    """A job that runs, and does not stop for others unless it is said to."""
    return world.run(ask(nodes, **{"restartable": False, **fields})).id


def packed(**fields: object) -> tuple[World, str]:
    """Two racks of 4 nodes, full: a job of two slices of 2 in r1 and r2 beside others, one of whose nodes has failed."""
    world = World(racks(2, nodes=4), BARE)
    job = beside(world, 4, **fields)
    beside(world, 4)
    return world, stalled(world, job, "r1-n1")


def answer(world: World, job: str, kind: Kind) -> Counterfactual:
    """The answer of that kind; all that are given come true."""
    found = asked(world, job)
    assert kind in found, list(found)
    for each in found.values():
        assert comes_true(world, job, each), each
    return found[kind]


def told(world: World, job: str) -> Why:
    return why(world.state, world.job(job), world.now)


# ---- what it lacks


def test_it_is_said_which_slice_lacks_how_many_nodes_and_where_it_comes_nearest() -> None:
    world = World(racks(3, nodes=4), BARE)
    job = beside(world, 4)
    beside(world, 4)
    beside(world, 1)
    found = told(world, stalled(world, job, "r1-n1", "r1-n2"))
    assert found.lacks == (ShortSlice(slice=0, nodes=4, missing=2, domain="r1", free=0, best=(("r3", 3),)),)
    assert found.text == (
        "slice 0 lacks 2 of its 4 nodes and r1 has none to spare; elsewhere it needs 1 domain with 4 free; best is r3 with 3; "
        "3 nodes free in 1 domain; 2 nodes failed"
    )
    assert (found.code, found.position, found.waiting) == ("capacity-blocked", None, 0)
    assert found.counts["missing"] == 2


def test_the_counts_are_those_of_now() -> None:
    world, job = packed()
    assert "2 nodes free" not in told(world, job).text
    world.mark("r2-n1", NodeVerb.DRAIN)
    assert "1 draining" in told(world, job).text


def test_a_job_that_goes_on_with_the_next_pass_is_told_so() -> None:
    world, job = packed()
    world.mark("r1-n1", NodeVerb.REPAIR)
    world.run_pass()
    world.connect()  # it has passed its check
    found = told(world, job)
    assert (found.text, found.code, found.counterfactuals) == ("it goes on with the next pass", "", ())


# ---- what would let it go on


def test_a_node_back_in_service() -> None:
    world, job = packed()
    found = answer(world, job, Kind.REPAIR)
    assert (found.params, found.text) == ({"nodes": ("r1-n1",)}, "it would go on if node r1-n1 (failed) were back in service")


def test_a_node_that_takes_but_a_word_goes_before_one_that_has_to_be_repaired() -> None:
    world = World(racks(1, nodes=5), BARE)
    world.add(hev.NodeQuarantined(node="r1-n5", owner="op", reason="flaps", exit_rule="by hand"), source="agent")
    job = stalled(world, beside(world, 4), "r1-n1")
    found = answer(world, job, Kind.REPAIR)
    assert found.params == {"nodes": ("r1-n5",)}
    assert "(quarantined)" in found.text


def test_the_end_of_a_job_in_its_domain() -> None:
    world = World(racks(2, nodes=4), BARE)
    job, short = beside(world, 2), beside(world, 2, time_limit_s=3600)
    beside(world, 4)
    found = answer(world, stalled(world, job, "r1-n1"), Kind.END)
    assert found.params == {"jobs": (short,)}
    assert found.text == f"it goes on in about 61 min, when {short} ends"
    assert found.at is not None


def test_a_rack_that_is_opened() -> None:
    world = World(racks(2, nodes=4), BARE)
    world.do(SetRackState(rack="r2", state=RackState.DRAINING, until=None, by="op", reason="pump"))
    job = stalled(world, beside(world, 4), "r1-n1")
    assert answer(world, job, Kind.OPEN).text == "it would go on if rack r2 (out) were open"


def test_work_that_moves_out_of_its_domain() -> None:
    world = World(racks(2, nodes=4), BARE)
    job, other = beside(world, 3), beside(world, 1, restartable=True)
    beside(world, 3)
    world.now = HOUR
    found = answer(world, stalled(world, job, "r1-n1"), Kind.MOVE)
    assert found.text == f"it would go on if {other} moved from r1 to r2"
    assert found.cost_gpu_hours == 4


def test_work_of_no_higher_priority_that_gives_way() -> None:
    world = World(racks(1, nodes=4), BARE)
    job, other = beside(world, 3), beside(world, 1, restartable=True)
    found = answer(world, stalled(world, job, "r1-n1"), Kind.PREEMPT)
    assert found.params == {"jobs": (other,), "nodes": ("r1-n4",)}
    assert found.text == f"it would go on if {other} gave way, of no higher priority"
    world = World(racks(1, nodes=4), BARE)
    job, _ = beside(world, 3), beside(world, 1, restartable=True, priority=1)
    assert Kind.PREEMPT not in asked(world, stalled(world, job, "r1-n1"))


def test_submitted_anew_with_less() -> None:
    world = World(racks(1, nodes=4), BARE)
    job = beside(world, 4)
    world.now = HOUR
    found = answer(world, stalled(world, job, "r1-n1"), Kind.SIZE)
    assert (found.params, found.text) == ({"nodes": 3}, "it would start anew now with 3 nodes")
    assert found.cost_gpu_hours == 3 * 4


def test_submitted_anew_in_smaller_slices() -> None:
    world = World(racks(2, nodes=4), BARE)
    job = beside(world, 4)
    beside(world, 1)
    assert answer(world, stalled(world, job, "r1-n1"), Kind.SLICE).params == {"max_slice": 2}


def test_spares_that_the_policy_keeps_from_it() -> None:
    world = World(racks(2, nodes=4), Policy(min_spares=1, target_spares=1, slice_size=3))
    job = beside(world, 3)
    beside(world, 1)
    found = answer(world, stalled(world, job, "r1-n1", "r1-n2"), Kind.POLICY)
    assert found.text == "it would go on if the policy's min_spares were 0 instead of 1"


def test_a_plan_that_is_there_and_would_be_approved() -> None:
    world = World(racks(3, nodes=4), BARE)
    job = beside(world, 3)
    beside(world, 1)
    others = [beside(world, 1, restartable=True) for _ in range(2)]
    beside(world, 3)
    world.now = HOUR
    stalled(world, job, "r1-n1")
    assert Kind.PLAN not in asked(world, job)
    assert isinstance(propose(world), Decision)
    (known,) = world.state.defrag.values()
    found = answer(world, job, Kind.PLAN)
    assert (found.params, found.text) == ({"plan": known.id}, f"it would go on if plan {known.id} were approved")
    assert [move.job in others for move in known.plan.moves] == [True]


# ---- nothing in vain


def test_more_urgent_work_that_lacks_nodes_has_the_repaired_one_first() -> None:
    world = World(racks(1, nodes=4), BARE)
    first, second = beside(world, 2, priority=5), beside(world, 2)
    for node in ("r1-n1", "r1-n3"):
        world.mark(node, NodeVerb.FAIL)
    world.settle()
    assert asked(world, first)[Kind.REPAIR].params == {"nodes": ("r1-n1",)}
    assert asked(world, second)[Kind.REPAIR].params == {"nodes": ("r1-n1", "r1-n3")}
    assert comes_true(world, second, asked(world, second)[Kind.REPAIR])


def test_the_state_is_left_as_it_is() -> None:
    world, job = packed()
    before = asked(world, job)
    assert asked(world, job) == before
    assert world.job(job).lost_slots == ((0, 0),)
