"""Preemption for priority: only where the policy has it so, only lower work, only with a proof, and only what is needed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.domain.commands import NodeVerb
from clusters.domain.events import Payload
from clusters.domain.ids import HOUR
from clusters.domain.job_events import JobPlaced, JobPreempted
from clusters.domain.jobs import JobKind, JobState
from clusters.domain.policy import Policy
from clusters.domain.setting import Preemption
from clusters.domain.space_events import SpaceReserved
from clusters.domain.teams import Exempt
from scheduling.domain.moving import take_away
from scheduling.domain.preemption import candidates_for_priority
from scheduling.domain.trial import Trial
from tests.support.world import World, ask, racks

LOWER = Policy(preemption=Preemption.LOWER, target_spares=0)
EQUAL = Policy(preemption=Preemption.EQUAL, target_spares=0)


def evicted(events: Sequence[Payload]) -> list[str]:
    return [event.job for event in events if isinstance(event, JobPreempted)]


@pytest.mark.parametrize(
    ("policy", "priority", "fields", "goes"),
    [
        (LOWER, 1, {}, True),
        (LOWER, 0, {}, False),
        (LOWER, -1, {}, False),
        (LOWER, 1, {"restartable": False}, False),
        (LOWER, 1, {"kind": JobKind.INTERACTIVE, "restartable": True}, False),
        (LOWER, 1, {"team": "calm"}, False),
        (LOWER, 1, {"priority_class": "production"}, False),
        (LOWER, 0, {"priority_class": "batch"}, True),
        (EQUAL, 0, {}, False),  # it has only just started
        (Policy(target_spares=0), 1, {}, False),
    ],
)
def test_who_makes_room(policy: Policy, priority: int, fields: dict[str, object], goes: bool) -> None:
    policy = Policy(preemption=policy.preemption, target_spares=0, exempt=(Exempt(team="calm"),))
    world = World(racks(1), policy)
    job = world.run(ask(16, **fields))
    claimant = world.submit(ask(16, priority=priority))
    assert evicted(world.run_pass()) == ([job.id] if goes else [])
    world.settle()
    assert bool(world.job(claimant).slices) == goes


def test_equal_work_takes_turns_by_the_cool_down_and_not_sooner() -> None:
    world = World(racks(1), EQUAL)
    first = world.run(ask(16))
    second = world.job(world.submit(ask(16)))
    running = []
    for half in range(8):
        world.now = half * HOUR // 2
        world.settle()
        running.append(first.state is JobState.RUNNING)
        assert first.state is not second.state
    assert running == [True, True, False, False, True, True, False, False]


def test_work_that_was_disturbed_of_late_is_left_alone() -> None:
    world = World(racks(1), LOWER)
    victim = world.run(ask(16))
    rival = world.submit(ask(16, priority=1))
    world.settle()
    world.finish(rival)
    world.settle()
    assert (victim.state, victim.preemptions) == (JobState.RUNNING, 1)
    world.submit(ask(16, priority=1))
    assert evicted(world.run_pass()) == []
    world.now = HOUR
    assert evicted(world.run_pass()) == [victim.id]


def test_a_job_of_several_slices_empties_whole_racks_and_no_others() -> None:
    """Two racks are cheap to empty; the third holds the cheapest single job, which alone would free nothing."""
    world = World(racks(3), LOWER)
    for rack in range(3):
        for _ in range(2 if rack < 2 else 1):
            world.run(ask(8, restartable=rack < 2))
    cheap = world.run(ask(4))
    assert {part.domain for part in cheap.slices} == {"r3"}
    claimant = world.submit(ask(32, priority=1))
    assert len(evicted(world.run_pass())) == 4
    world.settle()
    assert {part.domain for part in world.job(claimant).slices} == {"r1", "r2"}
    assert cheap.state is JobState.RUNNING


def test_gpus_of_a_node_are_taken_from_as_few_as_need_be() -> None:
    world = World(racks(1, nodes=2), LOWER)
    pinned = [world.run(ask(gpus=2, restartable=False)) for _ in range(2)]
    small = [world.run(ask(gpus=1)) for _ in range(4)]
    claimant = world.submit(ask(gpus=1, priority=1))
    assert len(evicted(world.run_pass())) == 1
    world.settle()
    assert world.job(claimant).slices
    assert all(job.state is JobState.RUNNING for job in pinned)
    assert sum(job.state is JobState.RUNNING for job in small) == 3


@settings(max_examples=40)
@given(
    running=st.lists(st.tuples(st.integers(1, 6), st.integers(-2, 2), st.booleans()), min_size=1, max_size=9),
    waiting=st.lists(st.tuples(st.integers(1, 12), st.integers(-1, 3), st.booleans()), min_size=1, max_size=3),
    failing=st.sets(st.integers(1, 6), max_size=2),
    draining=st.booleans(),
)
def test_whoever_evicts_starts_where_it_evicted_and_needed_all_of_it(
    running: list[tuple[int, int, bool]], waiting: list[tuple[int, int, bool]], failing: set[int], draining: bool
) -> None:
    world = World(racks(3, nodes=6), LOWER)
    for nodes, priority, restartable in running:
        world.run(ask(nodes, priority=priority, restartable=restartable))
    for node in failing:
        world.mark(f"r1-n{node}", NodeVerb.DRAIN if draining else NodeVerb.FAIL)
    world.settle()
    for nodes, priority, gpus in waiting:
        world.submit(ask(gpus=min(nodes, 3), priority=priority) if gpus else ask(nodes, priority=priority))
    for _ in range(12):
        short = bool(world.state.lost)  # slices that lack nodes: what is freed for somebody else may be theirs first
        events = world.run_pass()
        claims = {event.job: event for event in events if isinstance(event, SpaceReserved) and event.expires_at is not None}
        for event in events:
            if isinstance(event, JobPreempted):
                victim, claimant = world.job(event.job), world.job(event.by)
                assert victim.request.restartable
                assert victim.priority < claimant.priority
                assert event.by in claims
                assert short or set(claims[event.by].nodes) & set(victim.held_nodes), "it stands where the other starts"
        world.connect()
        started = {event.job for event in world.run_pass() if isinstance(event, JobPlaced)}
        assert claims.keys() <= started, "nothing is evicted in vain"
        world.connect()
    world.log.sound()


def test_work_that_a_what_if_has_moved_is_nobodys_victim_in_it() -> None:
    """The state still has it where it was."""
    world = World(racks(2, nodes=4), LOWER)
    job = world.run(ask(2))
    trial = Trial(world.state, world.now)
    assert [victim.job for victim in candidates_for_priority(trial)] == [job]
    take_away(trial, trial.topology.domain_index[job.slices[0].domain], job, 0)
    assert candidates_for_priority(trial) == candidates_for_priority(trial.fork()) == []
