"""Changing the policy: who saw what, what changes for work that runs and work that comes, and what a change would mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusters.domain.books import Use
from clusters.domain.books_of import read_books
from clusters.domain.commands import ChangePolicy, NodeVerb
from clusters.domain.decision import Decision, Refusal
from clusters.domain.dump import dump_state
from clusters.domain.events import PolicyActivated
from clusters.domain.jobs import JobState
from clusters.domain.policy import Policy
from clusters.domain.setting import QueueOrder, SparesScope
from scheduling.domain.policy_commands import outlook, under
from tests.support.world import World, ask, racks


def change(world: World, policy: Policy, *, expected: int | None = None, reason: str = "smaller slices") -> Decision | Refusal:
    version = world.state.policy_version if expected is None else expected
    return world.do(ChangePolicy(policy=policy, expected=version, by="ada", reason=reason))


def sizes(world: World, job: str) -> list[int]:
    return [len(part.nodes) for part in world.job(job).slices]


def test_a_change_is_the_next_version_with_its_reason() -> None:
    world = World(racks(2))
    policy = Policy(slice_size=8)
    outcome = change(world, policy)
    assert outcome == Decision(events=(PolicyActivated(version=2, policy=policy, reason="smaller slices", by="ada"),))
    assert (world.state.policy, world.state.policy_version) == (policy, 2)


@pytest.mark.parametrize("seen", [0, 1, 3])
def test_of_two_who_change_at_once_the_second_is_told(seen: int) -> None:
    world = World(racks(1))
    change(world, Policy(slice_size=8))
    outcome = change(world, Policy(slice_size=9), expected=seen)
    assert isinstance(outcome, Refusal)
    assert (outcome.code, world.state.policy_version) == ("state", 2)
    assert "policy 2 is in force" in outcome.message


def test_a_change_that_changes_nothing_is_refused() -> None:
    outcome = change(World(racks(1)), Policy())
    assert isinstance(outcome, Refusal)
    assert (outcome.code, "nothing would change" in outcome.message) == ("state", True)


@pytest.mark.parametrize("reason", ["", "  ", "x" * 201, "a\nb"])
def test_a_change_needs_a_reason(reason: str) -> None:
    outcome = change(World(racks(1)), Policy(slice_size=8), reason=reason)
    assert isinstance(outcome, Refusal)
    assert (outcome.code, outcome.counts["field"]) == ("invalid", "reason")


def test_running_jobs_keep_their_slices_and_the_next_are_cut_anew() -> None:
    world = World(racks(6))
    old = world.run(ask(32)).id
    change(world, Policy(slice_size=8))
    world.settle()
    new = world.run(ask(32)).id
    assert sizes(world, old) == [16, 16]
    assert sizes(world, new) == [8, 8, 8, 8]
    node = world.job(old).slices[0].nodes[0]
    assert node is not None
    world.mark(node, NodeVerb.FAIL)
    world.settle()
    assert (sizes(world, old), world.job(old).swaps) == ([16, 16], 1)


def test_equals_of_a_priority_go_by_size_where_the_policy_says_so() -> None:
    world = World(racks(1))
    world.run(ask(18))
    large, urgent, small, shared = (world.submit(r) for r in (ask(12), ask(16, priority=5), ask(3), ask(gpus=2)))
    assert world.order() == [urgent, large, small, shared]
    change(world, Policy(queue_order=QueueOrder.SIZE))
    assert world.order() == [urgent, shared, small, large]


def test_the_order_of_the_queue_decides_who_gets_the_room() -> None:
    for order, winner in ((QueueOrder.AGE, 0), (QueueOrder.SIZE, 1)):
        world = World(racks(1), Policy(queue_order=order, target_spares=0))
        blocker = world.run(ask(16)).id
        jobs = [world.submit(ask(nodes)) for nodes in (14, 12)]
        world.settle()
        world.finish(blocker)
        world.settle()
        running = [job for job in jobs if world.job(job).state is JobState.RUNNING]
        assert running == [jobs[winner]]


def test_from_how_many_failures_on_a_node_is_avoided() -> None:
    """The limit counts for nodes that failed before it was set, too."""
    for limit, first in ((2, "r1-n1"), (1, "r1-n2")):
        world = World(racks(1))
        world.mark("r1-n1", NodeVerb.FAIL)
        world.mark("r1-n1", NodeVerb.REPAIR)
        world.settle()
        if limit != 2:
            change(world, Policy(offender_failures=limit))
        assert world.run(ask(2)).slices[0].nodes[0] == first


def test_an_outlook_without_checks_has_the_nodes_that_wait_for_one_in_service() -> None:
    world = World(racks(1))
    world.checks = False
    for node in ("r1-n1", "r1-n2", "r1-n3"):
        world.mark(node, NodeVerb.FAIL)
        world.mark(node, NodeVerb.REPAIR)
    world.submit(ask(16))
    world.settle()
    before = dump_state(world.state)
    policy = replace(world.state.policy, check_repaired=False)
    assert outlook(world.state, world.state.policy, world.now).starting == 0
    assert outlook(world.state, policy, world.now).starting == 1
    assert dump_state(world.state) == before
    world.log.sound()
    change(world, policy)
    assert "JobPlaced" in [type(event).__name__ for event in world.settle()]


def test_an_outlook_tells_what_the_change_then_does_and_touches_nothing() -> None:
    world = World(racks(4))
    world.run(ask(20))
    before = dump_state(world.state)
    policy = replace(Policy(), slice_size=5, target_spares=1, spares_scope=SparesScope.ALL, offender_failures=1)
    told = outlook(world.state, policy, 0)
    assert dump_state(world.state) == before
    change(world, policy)
    use = read_books(world.state).use
    assert (told.idle_nodes, told.stranded_nodes, told.spare_nodes) == (use[Use.IDLE], use[Use.STRANDED], use[Use.SPARE])
    assert told == outlook(world.state, policy, 0)
    assert told.idle_slices * 5 == told.idle_nodes


def test_an_outlook_counts_who_could_start_and_who_never_could() -> None:
    world = World(racks(2), Policy(min_spares=2))
    world.run(ask(1))
    waiting = world.submit(ask(32))
    world.settle()
    assert world.job(waiting).state is JobState.WAITING
    assert (outlook(world.state, Policy(), 0).starting, outlook(world.state, Policy(), 0).never) == (1, 0)
    strict = outlook(world.state, Policy(target_spares=10, min_spares=10), 0)
    assert (strict.starting, strict.never) == (0, 1)


def test_another_policy_makes_no_new_state_of_the_nodes() -> None:
    world = World(racks(2))
    twin = under(world.state, Policy(slice_size=4))
    assert twin.policy != world.state.policy
    assert twin.nodes is world.state.nodes
