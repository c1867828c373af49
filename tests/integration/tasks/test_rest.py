"""A demo that nobody watches rests, and wakes when somebody comes."""

from __future__ import annotations

import threading

import pytest

from clusters.connectors import presence
from clusters.connectors.presence import last_seen, touch_presence
from clusters.connectors.simulated.creation import Shape, create_simulated
from clusters.connectors.simulated.driver import Driver, Passes
from clusters.connectors.simulated.options import FleetOptions
from clusters.domain.ids import MINUTE, SECOND, Instant
from clusters.eventlog.store import default_log
from tasks import fleets
from tasks.fleets import REST_AFTER, FleetThread

pytestmark = pytest.mark.django_db

NAME = "watched"


class Wall:
    now: Instant = 1_900_000_000 * SECOND

    def __call__(self) -> Instant:
        return self.now


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    wall = Wall()
    for module in (fleets, presence):
        monkeypatch.setattr(module, "wall_now", wall)
    monkeypatch.setattr(presence, "_noted", {})
    return wall


@pytest.fixture
def driver(wall: Wall) -> Driver:
    options = FleetOptions(failures_per_node_day=0, pause_idle=1, speed=300)
    create_simulated(NAME, Shape(racks=1), options, by="test", cluster_time=wall.now)
    return Driver(default_log(), NAME, passes=Passes(lambda _: None), wall=wall)


def test_it_rests_half_an_hour_after_the_last_browser_has_left_and_goes_on_when_one_comes(wall: Wall, driver: Driver) -> None:
    thread = FleetThread(NAME, threading.Event())
    speeds = []
    for minutes in (0, 20, 29, 31, 500, 501):
        wall.now = Wall.now + minutes * MINUTE
        if minutes in (20, 501):
            touch_presence(NAME)
        thread._mind_rest(driver)
        speeds.append(driver.clock.speed)
    assert speeds == [300, 300, 300, 300, 0, 300]


def test_it_wakes_though_the_wall_clock_was_set_back_meanwhile(wall: Wall, driver: Driver) -> None:
    thread = FleetThread(NAME, threading.Event())
    touch_presence(NAME)
    wall.now += REST_AFTER + MINUTE
    thread._mind_rest(driver)
    assert driver.clock.speed == 0
    wall.now -= 2 * REST_AFTER
    touch_presence(NAME)
    thread._mind_rest(driver)
    assert driver.clock.speed == 300


def test_nothing_happens_while_it_rests_and_no_time_passes(wall: Wall, driver: Driver) -> None:
    thread = FleetThread(NAME, threading.Event())
    wall.now += REST_AFTER + MINUTE
    thread._mind_rest(driver)
    at = driver.clock.reading(wall.now)
    wall.now += 100 * REST_AFTER
    assert driver.clock.reading(wall.now) == at


def test_a_clock_that_somebody_else_stopped_is_left_alone(wall: Wall, driver: Driver) -> None:
    thread = FleetThread(NAME, threading.Event())
    driver.set_clock(0)
    touch_presence(NAME)
    wall.now += MINUTE
    thread._mind_rest(driver)
    assert driver.clock.speed == 0


def test_presence_is_written_down_now_and_then_only(wall: Wall) -> None:
    assert last_seen(NAME) == 0
    touch_presence(NAME)
    first = last_seen(NAME)
    wall.now += SECOND
    touch_presence(NAME)
    assert last_seen(NAME) == first == Wall.now
    wall.now += MINUTE
    touch_presence(NAME)
    assert last_seen(NAME) == wall.now
