"""Which work racks take: what operators say, and what follows."""

from __future__ import annotations

import pytest

from clusters.domain.books import Use
from clusters.domain.books_of import read_books
from clusters.domain.commands import NodeVerb, RemoveRack, SetRackState
from clusters.domain.decision import Decision, Refusal
from clusters.domain.dump import dump_state, load_state
from clusters.domain.health_events import RackStateChanged
from clusters.domain.ids import HOUR, MINUTE
from clusters.domain.inventory_events import NodeRegistered, NodeRemoved, RackRegistered, RackRemoved
from clusters.domain.job_events import SliceMoved
from clusters.domain.jobs import JobRequest
from clusters.domain.racks import RackState
from scheduling.domain.rack_states import jobs_in, last_end
from tests.support.world import World, ask, racks


def shut(told: World, rack: str, state: RackState = RackState.DRAINING) -> None:
    assert not isinstance(told.do(SetRackState(rack=rack, state=state, by="ada")), Refusal)


def test_a_draining_rack_keeps_its_work_and_gets_no_more_and_is_out_when_empty() -> None:
    told = World(racks(2))
    job = told.run(ask(8, expected_run_s=3600))
    shut(told, "r1")
    assert told.settle() == []
    assert [part.domain for part in told.run(ask(8)).slices] == ["r2"]
    assert read_books(told.state).use[Use.OUT] == 10
    assert jobs_in(told.state, "r1") == [job]
    assert last_end(told.state, jobs_in(told.state, "r1"), told.now) == HOUR + MINUTE
    told.finish(job.id)
    (event,) = told.settle()
    assert event == RackStateChanged(rack="r1", state=RackState.OUT, reason="set by ada", by="ada")
    assert last_end(told.state, jobs_in(told.state, "r1"), told.now) == told.now


def test_a_shut_rack_gives_no_spares_so_its_slices_move() -> None:
    told = World(racks(2))
    job = told.run(ask(8))
    shut(told, "r1")
    told.mark("r1-n1", NodeVerb.FAIL)
    assert any(isinstance(event, SliceMoved) for event in told.settle())
    assert [part.domain for part in job.slices] == ["r2"]


def test_an_open_rack_takes_work_again() -> None:
    told = World(racks(1))
    shut(told, "r1", RackState.OUT)
    name = told.submit(ask(8))
    told.settle()
    assert told.job(name).slices == []
    shut(told, "r1", RackState.OPEN)
    told.settle()
    assert [part.domain for part in told.job(name).slices] == ["r1"]


def test_the_state_of_a_rack_outlives_a_dump_and_a_new_inventory() -> None:
    told = World(racks(2))
    shut(told, "r1")
    told.add(RackRegistered(rack="r1", block="b7", switch_trays=9))
    again = load_state(dump_state(told.state))
    assert again.racks["r1"].service == told.state.racks["r1"].service
    assert again.closed_racks == {"r1"}
    assert not any(node.placeable for node in again.nodes.values() if node.rack == "r1")


@pytest.mark.parametrize(
    ("rack", "state", "until", "code"),
    [
        ("r9", RackState.OUT, None, "unknown"),
        ("r1", RackState.OPEN, None, "state"),
        ("r1", RackState.DRAINING, 5, "invalid"),
        ("r1", RackState.NO_NEW_LONG_JOBS, None, "invalid"),
    ],
)
def test_what_makes_no_sense_is_refused(rack: str, state: RackState, until: int | None, code: str) -> None:
    outcome = World(racks(2)).do(SetRackState(rack=rack, state=state, until=until, by="ada"))
    assert isinstance(outcome, Refusal)
    assert outcome.code == code


# ---- racks that are taken away


def test_a_rack_goes_with_all_its_nodes_and_what_is_left_is_as_if_it_had_never_been() -> None:
    told = World(racks(3))
    job = told.run(ask(8))
    waiting = told.submit(ask(48))
    told.settle()
    assert waiting in told.state.reservations
    shut(told, "r2")
    told.settle()
    outcome = told.do(RemoveRack(rack="r2", by="ada", reason="sold"))
    assert isinstance(outcome, Decision)
    assert outcome.events[0] == NodeRemoved(node="r2-n1", reason="its rack was removed: sold")
    assert outcome.events[9] == NodeRemoved(node="r2-n10", reason="its rack was removed: sold")
    assert outcome.events[18:] == (RackRemoved(rack="r2", reason="sold", by="ada"),)
    assert told.state.racks.keys() == {"r1", "r3"}
    assert told.state.closed_racks == set()
    assert {node.rack for node in told.state.nodes.values()} == {"r1", "r3"}
    assert [domain.name for domain in told.state.topology.domains] == ["r1", "r3"]
    assert dump_state(load_state(dump_state(told.state))) == dump_state(told.state)
    told.settle()
    assert waiting not in told.state.reservations
    assert job.slices[0].domain == "r1"
    assert told.run(ask(16)).slices[0].domain == "r3"


@pytest.mark.parametrize("request_", [ask(8), ask(gpus=1)])
def test_a_rack_stays_while_work_has_any_of_its_nodes(request_: JobRequest) -> None:
    told = World(racks(1))
    job = told.run(request_)
    for shutting in (False, True):
        if shutting:
            shut(told, "r1")
        outcome = told.do(RemoveRack(rack="r1", by="ada"))
        assert isinstance(outcome, Refusal)
        assert (outcome.code, outcome.message) == (
            "state",
            f"work has nodes in rack r1 (1: {job.id}); drain it and wait until that has left",
        )
    told.finish(job.id)
    assert isinstance(told.do(RemoveRack(rack="r1", by="ada")), Decision)
    assert told.state.nodes == {}
    unknown = told.do(RemoveRack(rack="r1", by="ada"))
    assert isinstance(unknown, Refusal)
    assert unknown.code == "unknown"


def test_a_rack_that_comes_back_is_a_new_one() -> None:
    told = World(racks(2))
    shut(told, "r2", RackState.OUT)
    told.do(RemoveRack(rack="r2", by="ada"))
    told.add(RackRegistered(rack="r2", block="b1", switch_trays=9), NodeRegistered(node="r2-n1", rack="r2", domain="r2", gpus=4))
    assert told.state.racks["r2"].service.state is RackState.OPEN
    assert told.state.nodes["r2-n1"].placeable
