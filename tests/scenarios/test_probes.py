"""S15: health checks sit on idle nodes. A gang arrives: they yield at once, and that is no disruption."""

from __future__ import annotations

from clusters.domain.ids import HOUR, MINUTE
from clusters.domain.job_events import JobPlaced, JobPreempted, WorkLost
from clusters.domain.jobs import JobKind, JobState
from clusters.domain.policy import Policy
from clusters.domain.setting import Preemption
from clusters.domain.state import Job
from tests.support.world import World, ask, racks


def probe(world: World, **fields: object) -> Job:
    return world.job(world.submit(ask(1, **{"kind": JobKind.PROBE, "spares": 0, **fields})))


def filled(policy: Policy | None = None) -> tuple[World, list[Job]]:
    """Two racks with a probe on each node."""
    world = World(racks(2), policy or Policy(target_spares=0))
    probes = [probe(world) for _ in range(36)]
    world.settle()
    assert all(job.state is JobState.RUNNING for job in probes)
    world.now = 2 * HOUR
    return world, probes


def test_s15_probes_yield_to_a_gang_at_once_and_are_not_disrupted() -> None:
    world, probes = filled()
    gang = world.submit(ask(16))
    world.settle()
    assert world.job(gang).state is JobState.RUNNING, "without any time that passes"
    gone = [job for job in probes if job.state is JobState.WAITING]
    assert len(gone) == 16, "those that were in its place, and no others"
    assert all((job.preemptions, job.disturbed_at) == (0, None) for job in probes)
    assert world.state.tally.get("preemptions", 0) == 0
    assert world.state.lost_work == {}
    assert not [event for event in world.log.events if isinstance(event.payload, WorkLost)]
    world.finish(gang)
    world.settle()
    assert all(job.state is JobState.RUNNING for job in probes), "nodes are idle again"
    world.log.sound()


def test_s15_each_gang_in_a_row_is_yielded_to() -> None:
    """There is no cool-down for probes."""
    world, _ = filled()
    for minute in range(1, 5):
        world.now += minute * MINUTE
        gang = world.submit(ask(16))
        world.settle()
        assert world.job(gang).state is JobState.RUNNING
        world.finish(gang)
        world.settle()


def test_probes_go_before_other_work_and_take_nobodys_place_themselves() -> None:
    world = World(racks(2), Policy(target_spares=0, preemption=Preemption.LOWER))
    low = world.run(ask(16, priority=-5))
    probes = [probe(world, priority=1000) for _ in range(20)]
    world.settle()
    assert (low.state, sum(job.state is JobState.RUNNING for job in probes)) == (JobState.RUNNING, 20)
    probe(world, priority=1000)
    world.settle()
    assert low.state is JobState.RUNNING
    gang = world.submit(ask(16))
    events = world.settle()
    assert world.job(gang).state is JobState.RUNNING
    assert low.state is JobState.RUNNING
    assert all(world.job(event.job).request.kind is JobKind.PROBE for event in events if isinstance(event, JobPreempted))


def test_no_probe_yields_in_vain() -> None:
    world, _ = filled()
    world.run(ask(16))
    before = len(world.log.events)
    world.submit(ask(32))
    world.settle()
    later = [event.payload for event in world.log.events[before:]]
    assert not [event for event in later if isinstance(event, JobPreempted | JobPlaced)]
