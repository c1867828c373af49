"""Nodes of one domain that fail together, and the breaker."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clusters.domain.books import Condition
from clusters.domain.commands import SetRackState
from clusters.domain.dump import dump_state, load_state
from clusters.domain.health_events import NodeCheckRequested, NodeFailed, RackStateChanged, RepairFinished
from clusters.domain.ids import HOUR, MILLISECOND, SECOND
from clusters.domain.incident_events import BreakerReset, BreakerTripped, IncidentClosed, IncidentExtended, IncidentOpened
from clusters.domain.policy import Policy
from clusters.domain.racks import RackState
from clusters.domain.signals import SignalKind
from scheduling.domain.deadlines import next_deadline
from scheduling.domain.verdicts.breaker import breaker_limit
from tests.support.signals import lasting, nvlink, off_bus
from tests.support.world import World, ask, racks


def kinds(events: Sequence[object]) -> list[type]:
    return [type(event) for event in events]


def world(count: int = 8) -> World:
    return World(racks(count), Policy())


def test_a_burst_is_one_incident_at_the_end_of_its_window() -> None:
    told = world()
    for number in (3, 1, 2):
        told.add(nvlink(f"r1-n{number}"), source="signal:a")
        told.now += 100 * MILLISECOND
        assert told.run_pass() == []
    assert next_deadline(told.state, told.now) == SECOND
    told.now = SECOND
    opened, *failed = told.run_pass()
    assert isinstance(opened, IncidentOpened)
    assert (opened.domain, opened.nodes, opened.cause, opened.since) == ("r1", ("r1-n1", "r1-n2", "r1-n3"), "xid:149", 0)
    assert len(opened.evidence) == 3
    assert [event.node for event in failed if isinstance(event, NodeFailed)] == ["r1-n1", "r1-n2", "r1-n3"]


def test_one_node_alone_is_no_incident_but_fails_after_the_window() -> None:
    told = world()
    told.add(nvlink("r1-n1"), nvlink("r2-n1"), source="signal:a")
    assert told.run_pass() == []
    told.now = SECOND
    assert kinds(told.run_pass()) == [NodeFailed, NodeFailed]  # of two domains


def test_a_fault_long_after_another_is_not_the_same_burst() -> None:
    told = world()
    told.add(nvlink("r1-n1"), source="signal:a")
    told.now = SECOND
    told.run_pass()
    told.now = HOUR
    told.add(nvlink("r1-n2"), source="signal:a")
    assert told.run_pass() == []
    told.now = HOUR + SECOND
    assert kinds(told.run_pass()) == [NodeFailed]


def test_a_node_that_failed_alone_a_moment_before_belongs_to_the_burst() -> None:
    told = world()
    told.add(nvlink("r1-n1"), source="signal:a")
    told.now = 1200 * MILLISECOND
    told.run_pass()
    told.now = 900 * MILLISECOND  # reported late
    told.add(nvlink("r1-n2"), source="signal:a")
    told.now = 1900 * MILLISECOND
    opened, failed = told.run_pass()
    assert isinstance(opened, IncidentOpened)
    assert opened.nodes == ("r1-n1", "r1-n2")
    assert isinstance(failed, NodeFailed)
    assert failed.node == "r1-n2"


def test_more_nodes_join_an_open_incident_at_once_and_it_closes_when_all_are_back() -> None:
    told = world()
    told.add(nvlink("r1-n1"), nvlink("r1-n2"), source="signal:a")
    told.now = SECOND
    told.run_pass()
    (incident,) = told.state.incidents
    told.now = HOUR
    told.add(nvlink("r1-n5"), source="signal:a")
    assert kinds(told.run_pass()) == [IncidentExtended, RackStateChanged, NodeFailed, RackStateChanged]
    assert told.state.racks["r1"].service.state is RackState.OUT  # three nodes: the rack drains, and is empty
    assert all(not node.placeable for node in told.state.nodes.values() if node.rack == "r1")
    again = load_state(dump_state(told.state))
    assert again.incidents == told.state.incidents
    for number in (1, 2):
        told.add(RepairFinished(node=f"r1-n{number}", reason="cable"))
        assert kinds(told.settle()) == [NodeCheckRequested]
    told.add(RepairFinished(node="r1-n5", reason="cable"))
    assert kinds(told.run_pass()) == [NodeCheckRequested]  # a node in doubt is not in service
    closed, opened = told.settle()
    assert closed == IncidentClosed(incident=incident, reason="all its nodes are in service again")
    assert isinstance(opened, RackStateChanged)
    assert (opened.rack, opened.state) == ("r1", RackState.OPEN)
    assert told.state.incidents == {}
    assert all(node.placeable for node in told.state.nodes.values())


def test_a_rack_that_a_person_has_closed_is_not_opened_with_an_incident() -> None:
    told = world()
    told.do(SetRackState(rack="r1", state=RackState.OUT, by="ada", reason="new cables"))
    told.add(*(nvlink(f"r1-n{number}") for number in (1, 2, 3)), source="signal:a")
    told.now = SECOND
    assert RackStateChanged not in kinds(told.run_pass())
    told.add(*(RepairFinished(node=f"r1-n{number}", reason="cable") for number in (1, 2, 3)))
    assert kinds(told.settle()) == [NodeCheckRequested] * 3 + [IncidentClosed]
    assert told.state.racks["r1"].service.by == "ada"


def test_a_switch_at_fault_takes_the_rack_out_whatever_the_number() -> None:
    told = world()
    job = told.run(ask(16))
    told.add(nvlink("r1-n1", check="nvswitch"), source="signal:a")
    told.now = SECOND
    events = told.settle()
    assert [event.cause for event in events if isinstance(event, IncidentOpened)] == ["xid:149"]
    assert [event.state for event in events if isinstance(event, RackStateChanged)] == [RackState.DRAINING, RackState.OUT]
    assert (job.swaps, job.moves) == (0, 1)


def test_a_fatal_signal_of_the_node_does_not_wait_for_the_window() -> None:
    told = world()
    told.add(nvlink("r1-n1"), off_bus("r1-n2"), source="signal:a")
    (failed,) = told.run_pass()
    assert isinstance(failed, NodeFailed)
    assert failed.node == "r1-n2"


def test_the_breaker_stops_verdicts_until_a_person_has_looked() -> None:
    told = world(4)
    assert breaker_limit(told.state) == 18  # 10 % of 72 are fewer than one domain
    names = [f"r{rack}-n{number}" for rack in (1, 2) for number in range(1, 11)]
    told.add(*map(off_bus, names), source="signal:a")
    (tripped,) = told.run_pass()
    assert isinstance(tripped, BreakerTripped)
    assert (tripped.out, tripped.wanted, tripped.limit) == (0, 20, 18)
    assert told.run_pass() == []
    assert {node.condition for node in told.state.nodes.values()} == {Condition.HEALTHY}
    assert load_state(dump_state(told.state)).breaker == told.state.breaker
    told.now = HOUR
    told.add(BreakerReset(by="ada", reason="a real power cut"), source="user:ada")
    assert sorted(event.node for event in told.run_pass() if isinstance(event, NodeFailed)) == sorted(names)
    told.now = 2 * HOUR
    told.add(off_bus("r3-n1"), source="signal:a")
    assert kinds(told.run_pass()) == [NodeFailed]  # those that a person has seen do not count again


def test_the_breaker_counts_what_verdicts_took_out_before() -> None:
    told = world(4)
    for number in range(1, 19):
        told.add(off_bus(f"r1-n{number}"), source="signal:a")
        told.now += HOUR
        assert kinds(told.run_pass()) == [NodeFailed]
    told.add(off_bus("r2-n1"), source="signal:a")
    (tripped,) = told.run_pass()
    assert isinstance(tripped, BreakerTripped)
    assert (tripped.out, tripped.wanted) == (18, 1)


@pytest.mark.parametrize("count", [1, 19, 72])
def test_nodes_out_of_reach_do_not_trip_the_breaker_and_keep_their_work(count: int) -> None:
    told = world(4)
    names = list(told.state.nodes)[:count]
    told.add(*(lasting(name, SignalKind.UNREACHABLE) for name in names), source="signal:a")
    told.run_pass()
    assert told.state.breaker is None
    assert sum(node.condition is Condition.UNKNOWN for node in told.state.nodes.values()) == count
