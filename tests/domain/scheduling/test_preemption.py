"""Taking back what was borrowed: only with a proof, only from borrowers, only what is needed, and kept for the job it was taken for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.domain.commands import NodeVerb
from clusters.domain.events import Payload
from clusters.domain.ids import HOUR
from clusters.domain.job_events import JobPlaced, JobPreempted, JobRequeued, StopRequested
from clusters.domain.jobs import JobKind, JobState
from clusters.domain.policy import Policy
from clusters.domain.space_events import SpaceReserved
from clusters.domain.teams import Quota
from scheduling.domain.releasing import release
from scheduling.domain.trial import Trial
from tests.support.world import World, ask, racks

HALVES = (Quota(team="owner", gpus=72), Quota(team="guest", gpus=72))


def world_of(count: int = 2, *, quotas: tuple[Quota, ...] = HALVES, interactive: bool = False) -> World:
    return World(racks(count), Policy(quotas=quotas, interactive_preemptible=interactive))


def evicted(events: Sequence[Payload]) -> list[str]:
    return [event.job for event in events if isinstance(event, JobPreempted)]


def test_a_team_within_its_quota_gets_back_what_another_has_borrowed() -> None:
    world = world_of()
    guests = [world.run(ask(16, team="guest")) for _ in range(2)]
    claimant = world.submit(ask(16, team="owner"))
    events = world.run_pass()
    reserved, preempted, stop = events[:3]
    assert isinstance(reserved, SpaceReserved)
    assert isinstance(preempted, JobPreempted)
    assert isinstance(stop, StopRequested)
    assert (reserved.job, preempted.by) == (claimant, claimant)
    victim = world.job(preempted.job)
    assert victim in guests
    assert set(reserved.nodes) <= set(victim.held_nodes) | {f"{victim.slices[0].domain}-n{n}" for n in range(1, 19)}
    assert evicted(world.run_pass()) == []  # while it stops, no more is taken
    world.connect()
    later = world.run_pass()
    assert [type(event) for event in later if isinstance(event, JobRequeued | JobPlaced)] == [JobRequeued, JobPlaced]
    assert world.job(claimant).state is JobState.PLACED
    assert (victim.state, victim.preemptions) == (JobState.WAITING, 1)
    assert world.state.reservations == {}


def test_nothing_else_takes_the_space_while_it_is_being_freed() -> None:
    world = world_of()
    for _ in range(2):
        world.run(ask(16, team="guest"))
    claimant = world.submit(ask(16, team="owner"))
    world.run_pass()
    rival = world.submit(ask(16, team="guest", priority=500))
    world.settle()
    assert world.job(claimant).slices
    assert not world.job(rival).slices


def test_the_least_lost_work_goes_and_none_that_is_not_needed() -> None:
    world = world_of(quotas=(Quota(team="owner", gpus=200), Quota(team="guest", gpus=0)))
    old = world.run(ask(16, team="guest", checkpoint_interval_s=36_000))
    world.now = 3 * HOUR
    young = world.run(ask(16, team="guest", checkpoint_interval_s=36_000))
    world.now += HOUR
    world.submit(ask(16, team="owner"))
    assert evicted(world.run_pass()) == [young.id]
    assert old.state is JobState.RUNNING


def test_small_victims_are_taken_in_one_domain_and_only_as_many_as_are_needed() -> None:
    world = world_of(quotas=(Quota(team="owner", gpus=200), Quota(team="guest", gpus=0)))
    jobs = [world.run(ask(6, team="guest", spares=0)) for _ in range(6)]
    claimant = world.submit(ask(12, team="owner"))
    victims = evicted(world.run_pass())
    assert len(victims) == 2
    assert len({world.job(name).slices[0].domain for name in victims}) == 1
    world.settle()
    assert world.job(claimant).slices
    assert sum(bool(job.slices) for job in jobs) == 4


def test_what_comes_beside_the_claim_meanwhile_has_none_to_its_nodes_as_spares() -> None:
    """Six free nodes beside the freed ones go to another job, which wants two spares: they are not the claimant's loss."""
    world = world_of(quotas=(Quota(team="owner", gpus=200), Quota(team="guest", gpus=0)))
    for _ in range(6):
        world.submit(ask(6, team="guest"))
    world.settle()
    claimant = world.submit(ask(12, team="owner"))
    assert evicted(world.run_pass())
    world.settle()
    assert world.job(claimant).slices


@pytest.mark.parametrize(
    ("fields", "interactive", "goes"),
    [
        ({}, False, True),
        ({"restartable": False}, False, False),
        ({"kind": JobKind.INTERACTIVE, "restartable": True}, False, False),
        ({"kind": JobKind.INTERACTIVE, "restartable": True}, True, True),
    ],
)
def test_only_work_that_may_be_stopped_is(fields: dict[str, object], interactive: bool, goes: bool) -> None:
    world = world_of(1, quotas=(Quota(team="owner", gpus=72), Quota(team="guest", gpus=0)), interactive=interactive)
    job = world.run(ask(16, team="guest", **fields))
    world.submit(ask(16, team="owner"))
    assert evicted(world.run_pass()) == ([job.id] if goes else [])


def test_a_team_within_its_quota_gives_nothing() -> None:
    world = world_of()
    for team in ("guest", "owner"):
        world.run(ask(16, team=team))
    world.submit(ask(2, team="owner"))
    world.run(ask(2, team="other"))
    assert evicted(world.settle()) == []


def test_a_job_that_borrows_takes_nothing_back() -> None:
    world = world_of(1, quotas=(Quota(team="owner", gpus=8), Quota(team="guest", gpus=0), Quota(team="idle", gpus=200)))
    world.run(ask(16, team="guest"))
    world.submit(ask(4, team="owner"))
    assert evicted(world.settle()) == []


def test_without_quotas_nothing_is_ever_taken() -> None:
    world = World(racks(1))
    world.run(ask(16, team="guest"))
    world.submit(ask(16, team="owner", priority=900))
    assert evicted(world.settle()) == []


def test_where_the_freed_nodes_would_not_do_nothing_is_evicted() -> None:
    """The rack of the borrower has too few healthy nodes for the job, with or without the borrower."""
    world = world_of(1, quotas=(Quota(team="owner", gpus=72), Quota(team="guest", gpus=0)))
    world.run(ask(8, team="guest"))
    for node in range(13, 19):
        world.mark(f"r1-n{node}", NodeVerb.DRAIN)
    world.submit(ask(16, team="owner"))
    assert evicted(world.settle()) == []


jobs = st.lists(
    st.tuples(st.sampled_from(("guest", "other", "owner")), st.sampled_from((1, 3, 6, 9, 16)), st.booleans()), min_size=2, max_size=8
)


@settings(max_examples=30)
@given(jobs, st.sampled_from((4, 12, 16, 24)), st.integers(0, 72))
def test_no_eviction_without_a_proof_and_each_one_starts_what_it_was_made_for(
    running: list[tuple[str, int, bool]], nodes: int, quota: int
) -> None:
    quotas = (Quota(team="owner", gpus=144), Quota(team="guest", gpus=quota), Quota(team="other", gpus=8))
    world = World(racks(2), Policy(quotas=quotas))
    for team, size, restartable in running:
        world.run(ask(size, team=team, restartable=restartable, spares=0))
    claimant = world.submit(ask(nodes, team="owner", spares=0))
    before = {job.id: job for job in world.state.jobs.values()}
    used = {row.team: world.state.usage.gpus(row.team) for row in quotas}
    events = world.run_pass()
    victims = [before[name] for name in evicted(events)]
    if not victims:
        return
    for victim in victims:
        assert victim.request.restartable
        assert used[victim.request.team] > {row.team: row.gpus for row in quotas}[victim.request.team]
    world.settle()
    assert world.job(claimant).slices
    assert all(victim.preemptions for victim in victims)


def test_releasing_on_a_fork_gives_the_space_that_the_fold_gives() -> None:
    world = World(racks(2))
    job, shared, other = world.run(ask(20, exclusive=True)), world.run(ask(gpus=2)), world.run(ask(2, spares=1))
    trial = Trial(world.state, 0)
    for gone in (job, shared, other):
        release(trial, gone)
    for gone in (job, shared, other):
        world.finish(gone.id)
    for field in ("free", "count", "gpu_free", "wants", "owing", "buckets", "used", "closed"):
        assert getattr(trial.space, field) == getattr(world.state.space, field), field
