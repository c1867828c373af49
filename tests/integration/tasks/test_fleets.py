"""Which clusters get a driver."""

from __future__ import annotations

import threading

import pytest

from clusters.connectors.simulated.creation import Shape, create_simulated
from clusters.connectors.simulated.options import FleetOptions
from clusters.domain.events import NewEvent
from clusters.domain.health_events import RepairFinished
from clusters.domain.inventory_events import ClockSet
from clusters.eventlog.maintenance import remove_cluster
from clusters.eventlog.store import create_cluster
from scheduling import services
from tasks import fleets
from tasks.fleets import Fleets, FleetThread
from tests.support.patience import PATIENCE
from tests.support.world import ask

pytestmark = pytest.mark.django_db


def look(runner: Fleets) -> None:
    """Look once, and wait for what was started."""
    runner.look()
    for _, thread in runner._threads.values():
        thread.join(PATIENCE)


def simulate(name: str) -> None:
    create_simulated(name, Shape(racks=1), FleetOptions(), by="test")


@pytest.fixture
def driven(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Clusters whose thread was started; the threads end at once."""
    driven: list[str] = []
    monkeypatch.setattr(FleetThread, "run", lambda self: driven.append(self.cluster))
    return driven


def test_simulated_clusters_are_driven_others_are_not_and_new_ones_are_noticed(driven: list[str]) -> None:
    simulate("one")
    create_cluster("real")
    runner = Fleets(threading.Event())
    look(runner)
    assert driven == ["one"]
    simulate("two")
    look(runner)
    assert set(driven) == {"one", "two"}


def test_a_name_that_was_another_clusters_before_is_looked_at_anew(driven: list[str]) -> None:
    create_cluster("real")
    runner = Fleets(threading.Event())
    look(runner)
    remove_cluster("real", by="test", reason="test")
    simulate("real")
    look(runner)
    assert driven == ["real"]


def test_one_thread_drives_a_fleet_for_as_long_as_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, begun = threading.Event(), threading.Semaphore(0)
    starts: list[str] = []

    def run(self: FleetThread) -> None:
        starts.append(self.cluster)
        begun.release()
        stop.wait(PATIENCE)

    monkeypatch.setattr(FleetThread, "run", run)
    simulate("one")
    runner = Fleets(stop)
    runner.look()
    assert begun.acquire(timeout=PATIENCE)
    runner.look()
    stop.set()
    assert starts == ["one"]


def test_a_fleet_waits_for_the_pass_while_it_has_something_to_do_but_not_forever(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    simulate("one")
    thread = FleetThread("one", threading.Event())
    assert thread._lease.acquire()
    monkeypatch.setattr(fleets, "SETTLE_SECONDS", 0.05)
    loud = [NewEvent(RepairFinished(node="r001-n01"), 0, "fleet", "1")]
    thread._settle(loud)
    assert caplog.messages == []
    services.job_submit(cluster="one", request=ask(2), by="ada")
    thread._settle([NewEvent(ClockSet(wall=0, cluster_time=0, speed=1.0), 0, "fleet", "2")])  # says nothing to the pass
    assert caplog.messages == []
    thread._settle(loud)
    assert caplog.messages == ["the pass of cluster 'one' is behind; its fleet goes on without it"]
    services.run_pass("one")
    thread._settle(loud)
    assert len(caplog.messages) == 1
