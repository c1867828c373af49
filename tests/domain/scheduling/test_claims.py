"""Room that was made for a job is its own until it starts, or the claim on it expires."""

from __future__ import annotations

from clusters.domain.ids import HOUR, MINUTE
from clusters.domain.jobs import JobState
from clusters.domain.policy import Policy
from clusters.domain.setting import Backfill
from clusters.domain.space_events import ReservationExpired, SpaceReserved
from scheduling.domain.deadlines import next_deadline
from scheduling.domain.trial import Trial
from tests.support.world import World, ask, racks


def claim(world: World, name: str, nodes: tuple[str, ...], expires_at: int) -> None:
    world.add(SpaceReserved(job=name, nodes=nodes, starts_at=world.now, expires_at=expires_at, reason="room was made"), source="scheduler")


def test_a_claim_is_for_its_job_alone_under_any_policy_and_ends_when_it_expires() -> None:
    world = World(racks(2), Policy(backfill=Backfill.OFF, target_spares=0))
    world.run(ask(12))
    world.run(ask(16))
    name = world.submit(ask(16))
    world.run_pass()
    claim(world, name, tuple(f"r1-n{n}" for n in range(1, 19)), HOUR)
    assert not Trial(world.state, 0).views.space(Trial(world.state, 0).views.closed_to(ask(4), None)).count[0]
    other = world.submit(ask(4, priority=900))
    world.run_pass()
    assert world.job(other).state is JobState.WAITING
    assert next_deadline(world.state, MINUTE) == HOUR
    world.now = HOUR
    events = world.run_pass()
    assert ReservationExpired(job=name, reason="the job could not start in time") in events
    assert world.job(other).state is JobState.PLACED
