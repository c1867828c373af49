"""One process drives a fleet. R23: the token is looked at in the transaction of each append; who was paused past the lease is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clusters.connectors.lease import TERM, Lease, driven_at
from clusters.connectors.models import FleetLease
from clusters.connectors.simulated.creation import Shape, create_simulated
from clusters.connectors.simulated.driver import Driver, Passes
from clusters.connectors.simulated.options import FleetOptions
from clusters.domain.errors import FencedOut
from clusters.domain.ids import MINUTE, SECOND, Instant
from clusters.eventlog.store import default_log
from scheduling import services
from tests.support.world import ask

pytestmark = pytest.mark.django_db

NAME = "leased"


class Wall:
    """A wall clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now: Instant = 1_900_000_000 * SECOND

    def __call__(self) -> Instant:
        return self.now


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def lease(wall: Wall) -> Callable[[str], Lease]:
    return lambda holder: Lease(NAME, holder, wall=wall)


def test_a_second_holder_waits_until_the_term_is_over(wall: Wall, lease: Callable[[str], Lease]) -> None:
    first, second = lease("a"), lease("b")
    assert first.acquire()
    assert not second.acquire()
    wall.now += TERM
    assert second.acquire()
    assert FleetLease.objects.get().holder == "b"


def test_a_wall_clock_that_is_set_back_makes_no_lease_last_for_ever(wall: Wall, lease: Callable[[str], Lease]) -> None:
    first, second = lease("a"), lease("b")
    first.acquire()
    wall.now -= 60 * MINUTE
    assert driven_at(NAME, wall.now) is None
    first.keep(0)  # alive: it renews by the new time
    assert not second.acquire()
    assert driven_at(NAME, wall.now) is not None
    wall.now -= 60 * MINUTE
    assert second.acquire()  # the first one is dead
    with pytest.raises(FencedOut):
        first.keep(0)


def test_a_lease_that_is_kept_stays_and_says_how_far_behind_its_fleet_is(wall: Wall, lease: Callable[[str], Lease]) -> None:
    first, second = lease("a"), lease("b")
    first.acquire()
    for _ in range(5):
        wall.now += TERM // 2
        first.keep(7)
        assert not second.acquire()
    row = driven_at(NAME, wall.now)
    assert row is not None
    assert row.lag == 7


def test_keeping_writes_no_more_often_than_it_has_to(wall: Wall, lease: Callable[[str], Lease]) -> None:
    first = lease("a")
    first.acquire()
    before = FleetLease.objects.get().expires
    wall.now += TERM // 4
    first.keep(0)
    assert FleetLease.objects.get().expires == before


def test_a_released_lease_is_free_at_once_and_nobody_drives_the_fleet(wall: Wall, lease: Callable[[str], Lease]) -> None:
    first, second = lease("a"), lease("b")
    first.acquire()
    first.release()
    assert driven_at(NAME, wall.now) is None
    assert second.acquire()


def test_releasing_late_does_not_harm_the_next_holder(wall: Wall, lease: Callable[[str], Lease]) -> None:
    first, second = lease("a"), lease("b")
    first.acquire()
    wall.now += TERM
    second.acquire()
    first.release()
    assert driven_at(NAME, wall.now) is not None
    second.check()


def test_who_lost_the_lease_finds_out_by_its_token_even_while_nobody_wrote(wall: Wall, lease: Callable[[str], Lease]) -> None:
    first, second = lease("a"), lease("b")
    first.acquire()
    wall.now += 10 * TERM  # expired, but nobody took over: still the only one
    first.check()
    second.acquire()
    with pytest.raises(FencedOut):
        first.check()
    with pytest.raises(FencedOut):
        first.keep(0)
    second.check()


def test_r23_a_paused_drivers_write_is_refused_and_leaves_nothing_behind(wall: Wall, lease: Callable[[str], Lease]) -> None:
    """R23: the old driver wakes up with facts that it has not told yet."""
    create_simulated(NAME, Shape(racks=1), FleetOptions(failures_per_node_day=0), by="test", cluster_time=wall.now)
    services.job_submit(cluster=NAME, request=ask(2, expected_run_s=60), by="ada")
    services.run_pass(NAME)
    log = default_log()
    leases = [lease("a"), lease("b")]
    leases[0].acquire()
    paused = Driver(log, NAME, passes=Passes(lambda _: None), guard=leases[0].check, wall=wall)
    wall.now += TERM
    leases[1].acquire()
    head = log.head(NAME)
    with pytest.raises(FencedOut):
        paused.play(wall.now + MINUTE)
    assert log.head(NAME) == head
    Driver(log, NAME, passes=Passes(lambda _: None), guard=leases[1].check, wall=wall).play(wall.now + MINUTE)
    kinds = [event.kind for event in log.read(NAME, head)]
    assert kinds.count("WorkStarted") == 1
