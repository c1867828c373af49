"""Which work racks take: what operators say, and what follows."""

from __future__ import annotations

import pytest

from clusters.domain.books import Use
from clusters.domain.books_of import read_books
from clusters.domain.commands import NodeVerb, SetRackState
from clusters.domain.decision import Refusal
from clusters.domain.dump import dump_state, load_state
from clusters.domain.health_events import RackStateChanged
from clusters.domain.ids import HOUR, MINUTE
from clusters.domain.inventory_events import RackRegistered
from clusters.domain.job_events import SliceMoved
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
