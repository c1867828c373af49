"""The reasons that people see are counted anew, though the log tells them only when the code changes."""

from __future__ import annotations

from scheduling.domain.trial import Trial
from scheduling.domain.waiting import refusal_now
from tests.support.world import World, ask, racks


def test_the_counts_follow_the_space_while_the_code_stays() -> None:
    world = World(racks(2))
    small = [world.submit(ask(6)) for _ in range(4)]
    world.run_pass()
    waiting = world.submit(ask(32))
    world.run_pass()
    job = world.job(waiting)
    told = dict(job.counts)
    world.finish(small[0])
    world.run_pass()
    assert job.counts == told, "the code is the same, so nothing new was told"
    now = refusal_now(Trial(world.state, 0), job)
    assert now is not None
    assert now.code == job.blocked
    assert int(now.counts["free_nodes"]) + int(now.counts["kept_for_job"]) == int(told["free_nodes"]) + 6


def test_a_job_that_is_not_blocked_has_no_refusal() -> None:
    world = World(racks(1))
    job = world.submit(ask(4))
    assert refusal_now(Trial(world.state, 0), world.job(job)) is None
    world.run_pass()
    assert refusal_now(Trial(world.state, 0), world.job(job)) is None
