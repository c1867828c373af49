"""S13: a rack has maintenance in four hours. What ends by then still starts there, what does not waits; when it is empty is told."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.domain.commands import NodeVerb, SetRackState
from clusters.domain.decision import Decision
from clusters.domain.ids import DAY, HOUR
from clusters.domain.job_events import NodeSwapped
from clusters.domain.jobs import JobState
from clusters.domain.policy import Policy
from clusters.domain.racks import RackState
from clusters.domain.setting import Backfill
from scheduling.domain.limits import STOP
from scheduling.domain.rack_states import jobs_in, last_end
from tests.support.world import World, ask, racks

ONE_HOUR, THREE_DAYS = 3600, 3 * 86_400


def maintained(count: int, policy: Policy | None = None) -> World:
    """Racks of which r1 is under maintenance in four hours."""
    world = World(racks(count), policy or Policy(target_spares=0))
    command = SetRackState(rack="r1", state=RackState.NO_NEW_LONG_JOBS, until=4 * HOUR, by="op", reason="new pump")
    assert isinstance(world.do(command), Decision)
    return world


@pytest.mark.parametrize("field", ["time_limit_s", "expected_run_s"])
@pytest.mark.parametrize("backfill", list(Backfill))
def test_s13_an_hour_may_start_there_and_three_days_may_not(field: str, backfill: Backfill) -> None:
    world = maintained(1, Policy(target_spares=0, backfill=backfill))
    long, short = world.submit(ask(16, **{field: THREE_DAYS})), world.submit(ask(16, **{field: ONE_HOUR}))
    world.settle()
    assert world.job(short).state is JobState.RUNNING
    assert world.job(long).state is JobState.WAITING
    assert world.job(long).blocked
    end = last_end(world.state, jobs_in(world.state, "r1"), world.now)
    assert end == HOUR + STOP < 4 * HOUR, "the forecast: when the rack is empty"


def test_s13_long_work_starts_elsewhere_and_there_again_once_the_rack_is_open() -> None:
    world = maintained(2)
    assert {part.domain for _ in range(1) for part in world.run(ask(16, time_limit_s=THREE_DAYS)).slices} == {"r2"}
    waiting = world.submit(ask(16, time_limit_s=THREE_DAYS))
    world.settle()
    assert world.job(waiting).state is JobState.WAITING
    world.do(SetRackState(rack="r1", state=RackState.OPEN, by="op", reason="done"))
    world.settle()
    assert [part.domain for part in world.job(waiting).slices] == ["r1"]


@pytest.mark.parametrize("fields", [{}, {"expected_run_s": ONE_HOUR, "restartable": False}, {"time_limit_s": 4 * 3600}])
def test_what_does_not_end_for_certain_by_then_does_not_start_there(fields: dict[str, Any]) -> None:
    world = maintained(1)
    name = world.submit(ask(2, **fields))
    world.settle()
    assert world.job(name).state is JobState.WAITING


def test_as_the_time_comes_nearer_less_may_start_and_after_it_nothing() -> None:
    world = maintained(1)
    for hours, starts in ((0, True), (2.9, True), (3, False), (4, False), (50, False)):
        world.now = round(hours * HOUR)
        job = world.job(world.submit(ask(1, time_limit_s=ONE_HOUR)))
        world.settle()
        assert (job.state is JobState.RUNNING) == starts, hours


def test_work_that_runs_there_is_still_repaired_in_place_and_no_slice_moves_in_that_stays() -> None:
    world = World(racks(2), Policy(target_spares=0))
    here, there = world.run(ask(16)), world.run(ask(16))
    assert [job.slices[0].domain for job in (here, there)] == ["r1", "r2"]
    world.do(SetRackState(rack="r1", state=RackState.NO_NEW_LONG_JOBS, until=4 * HOUR, by="op", reason="new pump"))
    world.mark("r1-n1", NodeVerb.FAIL)
    assert [type(event) for event in world.run_pass()] == [NodeSwapped]
    world.settle()
    world.finish(here.id)
    for node in (1, 2, 3):
        world.mark(f"r2-n{node}", NodeVerb.FAIL)
    world.settle()
    assert there.state is JobState.STALLED, "r1 has room, but the job would not have left in time"
    world.now = 5 * DAY
    world.mark("r2-n1", NodeVerb.REPAIR)
    world.settle()
    assert there.state is JobState.RUNNING
