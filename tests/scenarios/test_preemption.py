"""S1, S2 and S7: work makes room for others only where that provably helps, and no more of it than is needed."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.domain.commands import CancelJob, NodeVerb
from clusters.domain.ids import HOUR, MINUTE
from clusters.domain.job_events import JobPreempted
from clusters.domain.jobs import JobState
from clusters.domain.policy import Policy
from clusters.domain.setting import Preemption
from clusters.domain.teams import Quota
from tests.support.world import World, ask, racks


def evicted(world: World) -> list[str]:
    return [event.payload.job for event in world.log.events if isinstance(event.payload, JobPreempted)]


def test_s1_a_production_slice_takes_the_rack_of_the_batch_jobs_and_nothing_else() -> None:
    world = World(racks(12, per_block=12), Policy(preemption=Preemption.LOWER, target_spares=0))
    for rack in range(1, 10):
        world.mark(f"r{rack}-n18", NodeVerb.FAIL)
    world.now = 2 * HOUR  # long after the failures
    hero = world.run(ask(11 * 16, restartable=False))
    left = "r12"
    assert {part.domain for part in hero.slices} == {f"r{rack}" for rack in range(1, 12)}
    before = world.run(ask(18, slice_size=18))
    beside = world.run(ask(8, max_slice=1, priority_class="production"))
    world.finish(before.id)
    batch = [world.run(ask(8, priority_class="batch")) for _ in range(2)]
    assert [job.slices[0].domain for job in batch] == [left, left]
    assert sum(part.domain != left for part in beside.slices) == 8
    free = {domain.name: world.state.space.count[index] for index, domain in enumerate(world.state.topology.domains)}
    assert (sum(free.values()), max(free.values())) == (7, 2)

    name = world.submit(ask(16, priority_class="production"))
    world.run_pass()
    assert world.job(name).blocked == "capacity-blocked"
    assert sorted(evicted(world)) == sorted(job.id for job in batch)
    world.settle()
    assert [part.domain for part in world.job(name).slices] == [left]
    assert (hero.state, beside.state) == (JobState.RUNNING, JobState.RUNNING)
    for job in batch:
        assert job.state is JobState.WAITING
        assert job.reason == f"makes room for job {name}"
        assert job.preemptions == 1
    world.log.sound()


@pytest.mark.parametrize("straddling", [False, True])
def test_s2_victims_free_exactly_one_rack(straddling: bool) -> None:
    """Ten racks, two nodes failed, full of borrowed work: jobs of 2 to 8 nodes in turn, or such as lie in two racks at once."""
    world = World(racks(10), Policy(target_spares=0, quotas=(Quota(team="guest", gpus=80), Quota(team="owner", gpus=640))))
    for node in ("r1-n18", "r2-n18"):
        world.mark(node, NodeVerb.FAIL)
    sizes = [8, 6, 4, 2, 5, 3]
    for number in range(80):
        nodes = 12 if straddling and number % 3 == 0 else sizes[number % len(sizes)]
        world.submit(ask(nodes, team="guest", max_slice=6 if nodes == 12 else None))
    world.settle()
    while world.state.space.buckets[0] != (1 << 10) - 1:
        world.run(ask(1, team="guest"))
    for name in list(world.state.queue):
        world.do(CancelJob(job=name, by="op"))
    assert sum(world.state.space.count) == 0
    name = world.submit(ask(16, team="owner"))
    world.run_pass()
    victims = [world.job(victim) for victim in evicted(world)]
    assert victims
    freed = {part.domain: 0 for victim in victims for part in victim.slices}
    for victim in victims:
        for part in victim.slices:
            freed[part.domain] += len(part.nodes)
    whole = [domain for domain, nodes in freed.items() if nodes >= 16]
    assert len(whole) == 1
    assert all(whole[0] in {part.domain for part in victim.slices} for victim in victims), "none leaves another rack in vain"
    least = min(sum(len(part.nodes) for part in victim.slices) for victim in victims)
    assert freed[whole[0]] - least < 16, "each of them is needed"
    world.settle()
    assert [part.domain for part in world.job(name).slices] == whole
    assert len(evicted(world)) == len(victims)


def lone_machines(world: World, **fields: Any) -> list[str]:
    """Eleven jobs on eleven machines, one each."""
    return [world.run(ask(gpus=8, **fields)).id for _ in range(11)]


MACHINES = [(f"m{n}", "b1", f"m{n}", 1, 8) for n in range(1, 12)]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "they have the same priority"),
        ({"restartable": False, "priority_class": "batch"}, "they cannot be restarted"),
        ({"priority_class": "production"}, "they have a higher priority"),
    ],
)
def test_s7_two_small_jobs_wait_and_nobody_is_evicted_in_vain(fields: dict[str, Any], why: str) -> None:
    world = World(MACHINES, Policy(preemption=Preemption.LOWER))
    jobs = lone_machines(world, **fields)
    for _ in range(2):
        world.submit(ask(gpus=1))
    for minute in range(60):
        world.now = minute * MINUTE
        world.settle()
    assert evicted(world) == [], why
    assert all(world.job(name).state is JobState.RUNNING for name in jobs)


def test_s7_nobody_is_evicted_from_machines_that_could_not_be_used_then() -> None:
    """All machines are drained while their work goes on: what leaves frees nothing, however low it stands."""
    world = World(MACHINES, Policy(preemption=Preemption.LOWER))
    lone_machines(world, priority_class="batch")
    for number in range(1, 12):
        world.mark(f"m{number}-n1", NodeVerb.DRAIN)
    for _ in range(2):
        world.submit(ask(gpus=1, priority_class="production"))
    for hour in range(6):
        world.now = hour * HOUR
        world.settle()
    assert evicted(world) == []


def test_s7_one_machine_serves_both_where_one_may_be_taken() -> None:
    world = World(MACHINES, Policy(preemption=Preemption.LOWER))
    jobs = lone_machines(world, priority_class="batch")
    waiting = [world.submit(ask(gpus=1, priority_class="production")) for _ in range(2)]
    for hour in range(6):
        world.now = hour * HOUR
        world.settle()
    assert all(world.job(name).state is JobState.RUNNING for name in waiting)
    assert len(evicted(world)) == 1
    assert sum(world.job(name).state is JobState.RUNNING for name in jobs) == 10


def test_borrowed_work_does_not_preempt_an_owner_who_would_take_it_back_at_once() -> None:
    quotas = (Quota(team="own", gpus=40), Quota(team="guest", gpus=0))
    world = World(racks(1, nodes=4), Policy(target_spares=0, preemption=Preemption.LOWER, defrag_cooldown_s=0, quotas=quotas))
    own = world.submit(ask(4, team="own"))
    guest = world.submit(ask(4, team="guest", priority=5))
    world.settle()
    assert (world.job(own).state, world.job(guest).state) in (
        (JobState.RUNNING, JobState.WAITING),
        (JobState.WAITING, JobState.RUNNING),
    )
    assert world.settle() == []
