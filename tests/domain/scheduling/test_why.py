"""The whole answer for one job."""

from __future__ import annotations

from clusters.domain.commands import HoldJob
from clusters.domain.jobs import JobState
from scheduling.domain.why import Why, why
from tests.support.world import World, ask, racks


def answer(world: World, job: str) -> Why:
    return why(world.state, world.job(job), world.now)


def test_a_waiting_job_is_told_its_place_and_its_reasons() -> None:
    world = World(racks(1))
    world.run(ask(16))
    first, second = world.submit(ask(16)), world.submit(ask(12))
    world.settle()
    assert [(found.position, found.waiting) for found in (answer(world, first), answer(world, second))] == [(1, 2), (2, 2)]
    found = answer(world, first)
    assert (found.state, found.code) == (JobState.WAITING, "capacity-blocked")
    assert found.text.startswith("needs 1 domain with 16 free; best is r1 with 2")
    assert found.counts["slice_size"] == 16


def test_a_job_that_no_pass_has_looked_at_is_counted_too() -> None:
    world = World(racks(1))
    world.run(ask(16))
    job = world.submit(ask(16))
    assert world.job(job).blocked == ""
    assert answer(world, job).code == "capacity-blocked"


def test_a_job_that_is_about_to_start_has_no_reason() -> None:
    world = World(racks(1))
    job = world.submit(ask(16))
    assert (answer(world, job).code, answer(world, job).text) == ("", "it starts with the next pass")


def test_a_job_behind_another_that_takes_the_room_is_told_so() -> None:
    world = World(racks(1))
    world.submit(ask(16))
    job = world.submit(ask(16))
    assert answer(world, job).text == "jobs ahead of it take the room that there is"


def test_a_job_that_does_not_wait_says_what_it_does() -> None:
    world = World(racks(1))
    running = world.run(ask(8)).id
    held = world.submit(ask(8))
    world.do(HoldJob(job=held, by="ada", reason="budget"))
    assert answer(world, running).text == "it does not wait: it is running"
    assert (answer(world, held).code, answer(world, held).text, answer(world, held).position) == ("held", "held: budget", None)
    later = world.submit(ask(8, after=(running,)))
    assert answer(world, later).text == f"waits for job {running} to finish"
