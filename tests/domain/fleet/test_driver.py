"""A fleet and its clock: the wall moves only when the test says so."""

from __future__ import annotations

import pytest

from clusters.connectors.simulated.driver import LOOK, MAX_LAG, Driver, Passes
from clusters.connectors.simulated.options import FleetOptions
from clusters.domain.commands import SubmitJob
from clusters.domain.errors import FencedOut
from clusters.domain.events import NewEvent
from clusters.domain.ids import DAY, HOUR, MINUTE, SECOND
from clusters.domain.inventory_events import ClockSet
from clusters.domain.job_events import WorkStarted
from tests.domain.fleet.stage import NAME, START, Stage, ask

QUIET = FleetOptions(failures_per_node_day=0)


def submit(stage: Stage, run_s: int = 3600) -> None:
    stage.do(SubmitJob(request=ask(16, run_s=run_s), by="ada"), f"submit/{len(stage.events)}")


def test_it_waits_for_the_time_at_which_something_is_due_then_tells_it_with_that_time() -> None:
    stage = Stage(1, QUIET, speed=10.0)
    submit(stage)
    assert stage.driver.turn() == LOOK
    stage.wall += 1_950_000  # 19.5 s of cluster time; the launch takes 20
    assert stage.driver.turn() == pytest.approx(50_000, abs=2)
    assert stage.told("WorkStarted") == []
    stage.wall += 60_000
    assert stage.driver.turn() == 0
    assert [at for at, _ in stage.told("WorkStarted")] == [20]


def test_in_lockstep_it_waits_for_the_pass_after_each_batch_and_at_low_speed_it_does_not() -> None:
    for speed, waits in ((60.0, False), (61.0, True)):
        stage = Stage(1, QUIET, speed=speed)
        submit(stage)
        stage.play(START + 2 * HOUR)
        assert [type(facts[0].payload) for facts in stage.settled[:1]] == ([WorkStarted] if waits else [])


def test_a_fleet_that_is_behind_sets_the_clock_back_to_its_own_time() -> None:
    stage = Stage(1, QUIET, speed=100.0)
    submit(stage)
    stage.wall += MAX_LAG + 300_000  # the job was due to start 200 ms after the start
    stage.driver.turn()
    assert stage.driver.lag == MAX_LAG + 100_000
    assert stage.driver.clock.reading(stage.wall) == START + 20 * SECOND
    ((at, clock),) = stage.told("ClockSet")[1:]
    assert at == 20
    assert clock == ClockSet(wall=stage.wall, cluster_time=START + 20 * SECOND, speed=100.0)


@pytest.mark.parametrize("speed", [1.0, 30.0, 300.0])
@pytest.mark.parametrize("back", [10 * SECOND, HOUR, 400 * DAY])
def test_a_wall_clock_that_is_set_back_does_not_stop_the_fleet(speed: float, back: int) -> None:
    stage = Stage(1, QUIET, speed=speed)
    submit(stage)
    stage.step()
    told = stage.driver.fleet.told_at
    stage.wall -= back
    stage.driver.turn()
    assert stage.driver.clock.reading(stage.wall) == told
    stage.wall += int(HOUR / speed)
    stage.driver.turn()
    assert len(stage.told("JobFinished")) == 1


def test_a_fleet_a_little_behind_catches_up_and_leaves_the_clock_alone() -> None:
    stage = Stage(1, QUIET, speed=100.0)
    submit(stage)
    stage.wall += SECOND
    stage.driver.turn()
    assert stage.driver.lag == 800_000
    assert len(stage.told("ClockSet")) == 1


def test_after_a_night_off_it_goes_on_where_it_stopped() -> None:
    stage = Stage(1, QUIET, speed=100.0)
    submit(stage)
    stage.step()
    stage.wall += DAY
    stage.restart()
    stage.driver.turn()
    assert stage.driver.clock.reading(stage.wall) == START + 3620 * SECOND
    assert [at for at, _ in stage.told("JobFinished")] == [3620]


def test_in_a_quiet_fleet_in_lockstep_time_passes_for_those_who_decide() -> None:
    stage = Stage(1, QUIET, speed=100.0)
    stage.wall += 10 * SECOND
    stage.driver.turn()
    submit(stage)
    assert [at for at, _ in stage.told("JobPlaced")] == [1000]
    stage.wall += SECOND
    stage.driver.turn()
    assert len(stage.told("ClockSet")) == 2  # it does not tell the time all the time


def test_a_slow_quiet_fleet_needs_to_tell_no_time() -> None:
    stage = Stage(1, QUIET, speed=1.0)
    stage.wall += HOUR
    stage.driver.turn()
    assert len(stage.told("ClockSet")) == 1


def test_while_the_clock_stands_nothing_happens_and_afterwards_it_goes_on() -> None:
    stage = Stage(1, QUIET, speed=100.0)
    submit(stage)
    stage.driver.set_clock(0)
    stage.wall += DAY
    assert stage.driver.turn() == LOOK
    assert stage.told("WorkStarted") == []
    stage.driver.set_clock(50.0)
    assert stage.driver.clock.reading(stage.wall) == START
    stage.wall += SECOND
    stage.driver.turn()
    assert [at for at, _ in stage.told("WorkStarted")] == [20]


def test_others_may_set_the_clock() -> None:
    stage = Stage(1, QUIET, speed=1.0)
    submit(stage)
    faster = ClockSet(wall=stage.wall, cluster_time=START, speed=3600.0)
    stage.log.append_facts(NAME, [NewEvent(faster, START, "trace:1", "clock")])
    stage.wall += SECOND
    stage.driver.turn()
    assert len(stage.told("WorkStarted")) == 1


def test_playing_runs_ahead_of_the_wall_and_sets_the_clock_to_where_it_came() -> None:
    stage = Stage(1, QUIET, speed=300.0)
    submit(stage, run_s=600)
    stage.driver.play(START + HOUR)
    assert [at for at, _ in stage.told("JobFinished")] == [620]
    assert stage.driver.clock.reading(stage.wall) == START + HOUR
    submit(stage)
    assert stage.told("JobPlaced")[-1][0] == 3600


def test_a_driver_without_the_lease_writes_nothing_and_stops() -> None:
    stage = Stage(1, QUIET)
    submit(stage)

    def fenced() -> None:
        raise FencedOut

    driver = Driver(stage.log, NAME, passes=Passes(stage.settle), guard=fenced, wall=lambda: stage.wall)
    head = stage.log.head(NAME)
    stage.wall += MINUTE
    with pytest.raises(FencedOut):
        driver.turn()
    assert stage.log.head(NAME) == head


@pytest.mark.parametrize("speed", [61.0, 3600.0, 50_000.0])
def test_in_lockstep_no_deadline_passes_without_the_pass_though_nothing_happens_there(speed: float) -> None:
    stage = Stage(1, QUIET, speed=speed)
    limited = ask(16, run_s=90_000, time_limit_s=3600)
    stage.do(SubmitJob(request=limited, by="ada"), "submit/1")
    stage.do(SubmitJob(request=ask(16, run_s=600), by="ada"), "submit/2")
    stage.play(START + 3 * HOUR)
    assert [at for at, _ in stage.told("StopRequested")] == [3620]
    assert [at for at, _ in stage.told("JobFailed")] == [3630]
    assert [at for at, _ in stage.told("JobPlaced")] == [0, 3630]
    assert [at for at, _ in stage.told("ClockSet")] == [0, 3620]


def test_the_time_that_is_told_at_a_deadline_lies_on_the_clock_as_it_runs() -> None:
    stage = Stage(1, QUIET, speed=3600.0)
    submitted = stage.wall
    stage.do(SubmitJob(request=ask(2, run_s=90_000, time_limit_s=3600), by="ada"), "submit/1")
    stage.play(START + 2 * HOUR)
    assert stage.driver.clock.reading(submitted + 2 * SECOND) == pytest.approx(START + 2 * HOUR, abs=3600)


def test_what_happens_at_a_deadline_itself_comes_before_the_pass() -> None:
    stage = Stage(1, QUIET, speed=3600.0)
    stage.do(SubmitJob(request=ask(2, run_s=3600, time_limit_s=3600), by="ada"), "submit/1")
    stage.play(START + 2 * HOUR)
    assert [at for at, _ in stage.told("JobFinished")] == [3620]
    assert stage.told("StopRequested") == []


def test_below_lockstep_the_fleet_leaves_deadlines_to_those_who_read_the_clock() -> None:
    stage = Stage(1, QUIET, speed=60.0)
    stage.do(SubmitJob(request=ask(2, run_s=7200, time_limit_s=3600), by="ada"), "submit/1")
    stage.play(START + 3 * HOUR)
    assert stage.told("StopRequested") == []


def test_playing_stops_at_deadlines_too() -> None:
    stage = Stage(1, QUIET, speed=1.0)
    stage.do(SubmitJob(request=ask(2, run_s=90_000, time_limit_s=3600), by="ada"), "submit/1")
    stage.driver.play(START + 2 * HOUR)
    assert [at for at, _ in stage.told("StopRequested")] == [3620]
