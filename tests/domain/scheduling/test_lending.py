"""Lent spares: only to work that can give them back, given back at once when a slice needs them, and never in vain."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.domain.books import Use
from clusters.domain.books_of import read_books
from clusters.domain.commands import NodeVerb
from clusters.domain.dump import dump_state, load_state
from clusters.domain.health_events import RepairFinished
from clusters.domain.job_events import JobPlaced, NodeSwapped, SliceMoved
from clusters.domain.jobs import JobKind, JobState
from clusters.domain.policy import Policy
from clusters.domain.space_events import SpareLent, SpareReclaimed
from tests.support.world import World, ask, racks

LENDING = Policy(lending=True)


def full(count: int = 1, policy: Policy = LENDING) -> World:
    """Racks with a slice and two spares each."""
    world = World(racks(count), policy)
    for _ in range(count):
        world.run(ask(16))
    return world


@pytest.mark.parametrize(
    ("policy", "fields", "lent"),
    [
        (LENDING, {}, True),
        (Policy(), {}, False),
        (LENDING, {"restartable": False}, False),
        (LENDING, {"kind": JobKind.INTERACTIVE, "restartable": True}, False),
        (Policy(lending=True, interactive_preemptible=True), {"kind": JobKind.INTERACTIVE, "restartable": True}, True),
    ],
)
def test_what_may_run_on_spares(policy: Policy, fields: dict[str, Any], lent: bool) -> None:
    world = full(policy=policy)
    name = world.submit(ask(1, **fields))
    world.settle()
    assert (world.job(name).state is JobState.RUNNING) == lent
    assert read_books(world.state).use[Use.LENT] == int(lent)
    assert bool(world.state.lent) == lent


def test_gpus_of_a_node_are_not_lent() -> None:
    world = full()
    name = world.submit(ask(gpus=1))
    world.settle()
    assert world.job(name).state is JobState.WAITING


def test_nothing_is_lent_while_other_nodes_are_free() -> None:
    world = World(racks(2), LENDING)
    world.run(ask(16))
    job = world.run(ask(2))
    assert job.slices[0].domain == "r2"
    assert world.state.lent == {}


def test_of_a_placement_only_what_was_owed_is_lent() -> None:
    world = World(racks(1), LENDING)
    world.run(ask(15))
    job = world.run(ask(2))
    assert list(world.state.lent) == [job.slices[0].nodes[1]]
    world.finish(job.id)
    assert world.state.lent == {}


def test_a_swap_takes_a_lent_node_back_and_the_slice_stays_where_it_is() -> None:
    world = full(2)
    lent = [world.run(ask(1)) for _ in range(4)]
    slice_ = next(job for job in world.state.jobs.values() if job.width == 16 and job.slices[0].domain == "r1")
    world.mark("r1-n3", NodeVerb.FAIL)
    reclaimed = [event for event in world.run_pass() if isinstance(event, SpareReclaimed)]
    assert len(reclaimed) == 1
    assert world.run_pass() == [], "it waits for the work to stop, and takes no more"
    events = world.settle()
    (swap,) = [event for event in events if isinstance(event, NodeSwapped)]
    assert swap.new in reclaimed[0].nodes
    assert not [event for event in events if isinstance(event, SliceMoved)]
    assert slice_.state is JobState.RUNNING
    gone = [job for job in lent if job.state is JobState.WAITING]
    assert [job.id for job in gone] == [reclaimed[0].job]
    assert gone[0].preemptions == 1


def test_a_free_spare_is_taken_before_a_lent_one() -> None:
    world = full()
    lent = world.run(ask(1))
    world.mark("r1-n3", NodeVerb.FAIL)
    events = world.settle()
    assert [type(event) for event in events if isinstance(event, NodeSwapped | SpareReclaimed)] == [NodeSwapped]
    assert lent.state is JobState.RUNNING


def test_two_failures_take_two_lent_nodes_and_three_none() -> None:
    for failures, moved in ((2, False), (3, True)):
        world = full(1)
        lent = [world.run(ask(1)) for _ in range(2)]
        for node in range(1, failures + 1):
            world.mark(f"r1-n{node}", NodeVerb.FAIL)
        world.settle()
        assert [job.state is JobState.RUNNING for job in lent] == [moved, moved], "where lent nodes do not suffice, none is taken"


@settings(max_examples=40)
@given(
    work=st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=8),
    failing=st.lists(st.integers(1, 12), max_size=4, unique=True),
    healing=st.booleans(),
)
def test_books_and_owners_hold_whatever_fails(work: list[tuple[int, bool]], failing: list[int], healing: bool) -> None:
    world = World(racks(2, nodes=6), Policy(lending=True, slice_size=4))
    for _ in range(2):
        world.run(ask(4))
    for nodes, restartable in work:
        world.submit(ask(nodes, restartable=restartable))
    world.settle()
    for number in failing:
        world.mark(f"r{1 + number % 2}-n{1 + number // 2}" if number < 12 else "r1-n6", NodeVerb.FAIL)
        world.settle()
    if healing:
        for number in failing:
            world.add(RepairFinished(node=f"r{1 + number % 2}-n{1 + number // 2}" if number < 12 else "r1-n6"))
        world.settle()
    for name, job in world.state.lent.items():
        assert world.state.nodes[name].job == job
        assert world.job(job).request.restartable
    whole = dump_state(world.state)
    assert dump_state(load_state(whole)) == whole
    lent = {event.payload.job for event in world.log.events if isinstance(event.payload, SpareLent)}
    placed = {event.payload.job for event in world.log.events if isinstance(event.payload, JobPlaced)}
    assert lent <= placed


def test_work_that_gives_its_spares_back_gets_no_others_in_the_same_pass() -> None:
    """It has just lost a node itself."""
    world = full()
    slice_, borrower = next(iter(world.state.jobs)), world.run(ask(2))
    for node in ("r1-n17", "r1-n1"):
        world.mark(node, NodeVerb.FAIL)
    decided = [type(event).__name__ for event in world.run_pass()]
    assert decided[:3] == ["SpareReclaimed", "JobPreempted", "StopRequested"]
    assert borrower.state is JobState.STOPPING
    world.settle()
    assert world.job(slice_).state is JobState.RUNNING
    assert borrower.state is JobState.WAITING
