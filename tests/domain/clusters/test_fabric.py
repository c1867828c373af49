"""Lost switch chips degrade every node of their rack by the same share, and nothing more."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.domain.books import Condition
from clusters.domain.dump import dump_state, load_state
from clusters.domain.evolve_switches import nodes_of
from clusters.domain.fabric import CHIPS_PER_TRAY, fabric_of
from clusters.domain.health_events import NodeFailed, NodeRecovered
from clusters.domain.inventory_events import NodeAbsent, NodeChanged, NodeRegistered, RackRegistered
from clusters.domain.state import ClusterState
from clusters.domain.switch_events import SwitchTrayFailed, SwitchTrayRepaired
from tests.domain.clusters.logs import cluster

CHIP = SwitchTrayFailed(rack="r1", tray=3, chip=1, reason="dark")
TRAY = SwitchTrayFailed(rack="r1", tray=5)


def conditions(state: ClusterState, rack: str = "r1") -> set[Condition]:
    return {node.condition for node in state.nodes.values() if node.rack == rack}


@pytest.mark.parametrize(
    ("failed", "lost", "left"),
    [((), 0, 129.6), ((CHIP,), 1, 129.6 * 17 / 18), ((TRAY,), 2, 129.6 * 16 / 18), ((CHIP, TRAY, CHIP), 3, 129.6 * 15 / 18)],
)
def test_a_chip_is_an_eighteenth_of_the_bandwidth_and_a_tray_two(failed: tuple[SwitchTrayFailed, ...], lost: int, left: float) -> None:
    """18 nodes of 4 GPUs of 1.8 TB/s: 129.6 TB/s with 18 chips."""
    state = cluster().add(*failed).sound()
    fabric = fabric_of(state.racks["r1"], nodes_of(state, state.racks["r1"]))
    assert (fabric.chips, fabric.lost, fabric.full_tbs) == (18, lost, 129.6)
    assert fabric.left_tbs == pytest.approx(left)
    assert conditions(state) == {Condition.DEGRADED if lost else Condition.HEALTHY}
    assert conditions(state, "r2") == {Condition.HEALTHY}


def test_the_nodes_say_what_is_left_and_still_take_work() -> None:
    state = cluster().add(CHIP, at=7).sound()
    node = state.nodes["r1-n1"]
    ((_, mark),) = node.marks.items()
    assert (mark.reason, mark.since) == ("17 of 18 NVSwitch chips work: 122.4 of 129.6 TB/s", 7)
    assert node.placeable


def test_what_is_repaired_is_whole_again_and_a_second_fault_keeps_the_time_of_the_first() -> None:
    log = cluster().add(CHIP, at=7).add(TRAY, at=9)
    assert {mark.since for mark in log.state.nodes["r1-n1"].marks.values()} == {7}
    log.add(SwitchTrayRepaired(rack="r1", tray=5, chip=2))
    assert fabric_of(log.sound().racks["r1"], nodes_of(log.state, log.state.racks["r1"])).lost == 2
    log.add(SwitchTrayRepaired(rack="r1", tray=5), SwitchTrayRepaired(rack="r1", tray=3))
    assert conditions(log.sound()) == {Condition.HEALTHY}


def test_a_degraded_fabric_neither_hides_nor_heals_what_else_is_wrong() -> None:
    log = cluster().add(CHIP, NodeFailed(node="r1-n1", reason="Xid 79"), NodeRecovered(node="r1-n2", reason="reset"))
    assert log.sound().nodes["r1-n1"].condition is Condition.FAILED
    assert log.state.nodes["r1-n2"].condition is Condition.DEGRADED
    log.add(SwitchTrayRepaired(rack="r1", tray=3))
    assert log.sound().nodes["r1-n1"].condition is Condition.FAILED


def test_nodes_that_come_go_and_move_follow_their_rack() -> None:
    def told(node: str, rack: str, kind: type[NodeRegistered | NodeChanged] = NodeChanged) -> NodeRegistered | NodeChanged:
        return kind(node=node, rack=rack, domain=rack, gpus=4)

    log = cluster(nodes=2).add(CHIP, told("new", "r1", NodeRegistered), told("r2-n1", "r1"), told("r1-n1", "r2"))
    found = {name: node.condition for name, node in log.sound().nodes.items()}
    degraded = {name for name, condition in found.items() if condition is Condition.DEGRADED}
    assert degraded == {"r1-n2", "new", "r2-n1"}
    log.add(NodeAbsent(node="new"), SwitchTrayRepaired(rack="r1", tray=3), told("new", "r1", NodeRegistered))
    assert {node.condition for node in log.sound().nodes.values()} == {Condition.HEALTHY}


def test_nodes_whose_fabric_is_their_own_do_not_hang_on_the_racks_switches() -> None:
    log = cluster(racks=1, nodes=1).add(NodeRegistered(node="hgx", rack="r1", domain="hgx", gpus=8), CHIP)
    assert log.sound().nodes["hgx"].condition is Condition.HEALTHY


def test_a_rack_told_anew_keeps_its_lost_chips_as_far_as_it_has_the_trays() -> None:
    log = cluster().add(CHIP, TRAY, RackRegistered(rack="r1", block="b2", switch_trays=9))
    assert fabric_of(log.sound().racks["r1"], nodes_of(log.state, log.state.racks["r1"])).lost == 3
    log.add(RackRegistered(rack="r1", block="b2", switch_trays=4))
    fabric = fabric_of(log.sound().racks["r1"], nodes_of(log.state, log.state.racks["r1"]))
    assert (fabric.chips, fabric.lost) == (8, 1)


def test_what_is_said_of_racks_and_trays_that_there_are_not_changes_nothing() -> None:
    log = cluster(racks=1).add(
        SwitchTrayFailed(rack="r9", tray=1), SwitchTrayFailed(rack="r1", tray=10), SwitchTrayRepaired(rack="r9", tray=1)
    )
    assert conditions(log.sound()) == {Condition.HEALTHY}


SWITCHES = st.builds(
    lambda kind, tray, chip: kind(rack="r1", tray=tray, chip=chip),
    st.sampled_from([SwitchTrayFailed, SwitchTrayRepaired]),
    st.integers(1, 9),
    st.sampled_from([None, 1, 2]),
)


@settings(max_examples=40)
@given(st.lists(SWITCHES, max_size=12))
def test_the_lost_chips_are_those_that_failed_last(events: list[SwitchTrayFailed | SwitchTrayRepaired]) -> None:
    lost: set[tuple[int, int]] = set()
    for event in events:
        chips = {(event.tray, chip) for chip in range(1, CHIPS_PER_TRAY + 1) if event.chip in (None, chip)}
        lost = lost | chips if isinstance(event, SwitchTrayFailed) else lost - chips
    state = cluster(racks=1, nodes=2).add(*events).sound()
    assert set(state.racks["r1"].lost_chips) == lost
    assert conditions(state) == {Condition.DEGRADED if lost else Condition.HEALTHY}
    assert dump_state(load_state(dump_state(state))) == dump_state(state)
