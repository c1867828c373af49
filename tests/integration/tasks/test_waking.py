"""Which events wake the pass, and how often it is sent for."""

from __future__ import annotations

import pytest
from kombu.exceptions import OperationalError

from clusters.connectors.simulated.options import FleetOptions
from clusters.domain.commands import CancelJob, NodeVerb, SetRackState, SubmitJob
from clusters.domain.events import PAYLOADS
from clusters.domain.evolve import evolve
from clusters.domain.racks import RackState
from clusters.domain.state import ClusterState
from scheduling.domain.deadlines import next_deadline
from tasks import waking
from tasks.waking import QUIET, Waker, is_settled
from tests.domain.fleet.stage import NAME, Stage, ask
from tests.support.world import World, racks


def test_quiet_events_are_events() -> None:
    assert set(PAYLOADS) > QUIET


def test_no_quiet_event_gives_a_pass_that_had_nothing_to_do_something_to_do() -> None:
    """Lived through: a small cluster with failures, where every event is looked at one by one."""
    stage = Stage(2, FleetOptions(seed=5, failures_per_node_day=2.0, repair_model=1, repair_mean_h=5))
    for number, nodes in enumerate((16, 16, 4, 16, 20, 2)):
        stage.do(SubmitJob(request=ask(nodes, run_s=9000 * (1 + number)), by="ada"), f"submit/{number}")
    stage.play(stage.driver.fleet.told_at + 2 * 3_600_000_000)
    with stage.log.live(NAME).reading() as state:
        stage.do(CancelJob(job=min(state.jobs), by="ada"), "cancel")
    stage.play(stage.driver.fleet.told_at + 40 * 3_600_000_000)
    state, seen = ClusterState(), set()
    for event in stage.events:
        settled = state.seq > 0 and is_settled(state)
        deadline = next_deadline(state, state.frontier) if state.seq else None
        evolve(state, event)
        if settled and event.kind in QUIET and (deadline is None or state.frontier < deadline):
            seen.add(event.kind)
            assert is_settled(state), event
    assert seen >= {"ClockSet"}  # the other quiet ones that it meets are what passes themselves decide
    assert is_settled(state)


def test_a_pass_has_something_to_do_while_a_check_is_to_be_asked_for_or_a_closed_rack_is_empty() -> None:
    world = World(racks(2))
    assert is_settled(world.state)
    world.mark("r1-n1", NodeVerb.FAIL)
    world.mark("r1-n1", NodeVerb.REPAIR)
    assert not is_settled(world.state)
    world.run_pass()
    assert is_settled(world.state)
    world.do(SetRackState(rack="r2", state=RackState.DRAINING, by="ada"))
    assert not is_settled(world.state)
    world.run_pass()
    assert is_settled(world.state)


@pytest.fixture
def sent() -> list[str]:
    return []


def test_one_wake_up_is_on_its_way_until_it_has_begun(sent: list[str]) -> None:
    waker = Waker(sent.append)
    for _ in range(5):
        waker.wake("a")
    waker.wake("b")
    assert sent == ["a", "b"]
    waker.begun("a")
    waker.wake("a")
    assert sent == ["a", "b", "a"]


def test_a_wake_up_that_could_not_be_sent_is_not_on_its_way(sent: list[str]) -> None:
    broken = True

    def send(cluster: str) -> None:
        if broken:
            raise OperationalError("no broker")
        sent.append(cluster)

    waker = Waker(send)
    with pytest.raises(OperationalError):
        waker.wake("a")
    broken = False
    waker.wake("a")
    assert sent == ["a"]


def test_a_wake_up_that_got_lost_is_not_waited_for_forever(sent: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waking, "LOST", 0.0)
    waker = Waker(sent.append)
    waker.wake("a")
    waker.wake("a")
    assert sent == ["a", "a"]
