"""An import appends what differs from what is known, and speaks for itself only."""

from __future__ import annotations

import pytest

from clusters.domain import health_events as health
from clusters.domain import inventory_events as ev
from clusters.domain.health import Flag
from clusters.inventory.delta import delta
from clusters.inventory.model import Inventory, InventoryNode, InventoryRack, Known, KnownNode
from tests.domain.inventory.files import Cluster

RACK = InventoryRack(name="r1", block="b1", switch_trays=9)


def node(**more: object) -> InventoryNode:
    return InventoryNode(**{"name": "n1", "rack": "r1", "domain": "d1", "gpus": 4, "position": "document 1", **more})  # type: ignore[arg-type]


def known(**more: object) -> Known:
    return Known(nodes={"n1": KnownNode(**{"rack": "r1", "domain": "d1", "gpus": 4, **more})}, racks={"r1": RACK})  # type: ignore[arg-type]


def difference(before: Known, *nodes: InventoryNode, racks: tuple[InventoryRack, ...] = (RACK,)) -> list[object]:
    return list(delta(before, Inventory(nodes=nodes, racks=racks)))


def test_what_is_new_is_registered_racks_first() -> None:
    assert difference(Known(), node(product="GB200")) == [
        ev.RackRegistered(rack="r1", block="b1", switch_trays=9),
        ev.NodeRegistered(node="n1", rack="r1", domain="d1", gpus=4, product="GB200"),
    ]


def test_what_is_the_same_is_no_event() -> None:
    assert difference(known(), node()) == []


@pytest.mark.parametrize(
    "change", [{"rack": "r2"}, {"domain": None}, {"gpus": 3}, {"product": "x"}, {"problem": "x"}, {"evidence": ("x",)}]
)
def test_each_change_of_a_node_tells_all_that_is_known_of_it(change: dict[str, object]) -> None:
    told = {"node": "n1", "rack": "r1", "domain": "d1", "gpus": 4, **change}
    assert difference(known(), node(**change)) == [ev.NodeChanged(**told)]  # type: ignore[arg-type]


def test_a_rack_that_changed_its_block_is_registered_anew() -> None:
    moved = InventoryRack(name="r1", block="b2", switch_trays=9)
    assert difference(known(), node(), racks=(moved,)) == [ev.RackRegistered(rack="r1", block="b2", switch_trays=9)]


def test_a_missing_node_is_absent_once_and_registered_when_found_again() -> None:
    assert difference(known(), racks=()) == [ev.NodeAbsent(node="n1")]
    assert difference(known(absent=True), racks=()) == []
    assert difference(known(absent=True), node()) == [ev.NodeRegistered(node="n1", rack="r1", domain="d1", gpus=4)]


RAISED = [
    (Flag.UNREACHABLE, health.NodeUnreachable(node="n1", reason="why")),
    (Flag.FAILED, health.NodeFailed(node="n1", reason="why", evidence=("e",))),
    (Flag.QUARANTINED, None),
    (Flag.DRAINING, health.NodeDraining(node="n1", reason="why")),
    (Flag.SUSPECT, health.NodeSuspected(node="n1", reason="why", evidence=("e",))),
    (Flag.DEGRADED, health.NodeDegraded(node="n1", reason="why")),
]


@pytest.mark.parametrize(("flag", "event"), RAISED)
def test_a_flag_is_raised_once(flag: Flag, event: object) -> None:
    flagged = node(flags=((flag, "why"),), evidence=("e",))
    (raised,) = difference(known(evidence=("e",)), flagged)
    if event is not None:
        assert raised == event
    else:
        assert isinstance(raised, health.NodeQuarantined)
        assert (raised.owner, raised.reason, raised.evidence) == ("import", "why", ("e",))
        assert raised.exit_rule
    assert difference(known(evidence=("e",), flags={flag: "why"}), flagged) == []
    assert len(difference(known(evidence=("e",), flags={flag: "earlier"}), flagged)) == 1


def test_a_flag_that_is_no_longer_told_is_taken_back() -> None:
    for flag in (Flag.UNREACHABLE, Flag.FAILED, Flag.SUSPECT, Flag.DEGRADED):
        assert [type(event) for event in difference(known(flags={flag: "x"}), node())] == [health.NodeRecovered]
    assert [type(event) for event in difference(known(flags={Flag.QUARANTINED: "x"}), node())] == [health.NodeReleased]
    assert [type(event) for event in difference(known(flags={Flag.DRAINING: "x"}), node())] == [health.NodeUndrained]


def test_taking_back_one_doubt_repeats_those_that_stay() -> None:
    before = known(flags={Flag.UNREACHABLE: "x", Flag.SUSPECT: "y", Flag.DRAINING: "z"})
    after = node(flags=((Flag.DRAINING, "z"), (Flag.SUSPECT, "y")))
    assert tuple(type(event) for event in difference(before, after)) == (health.NodeRecovered, health.NodeSuspected)


@pytest.mark.parametrize("flag", [Flag.QUARANTINED, Flag.DRAINING])
def test_nobody_elses_quarantine_or_drain_is_ended(flag: Flag) -> None:
    assert difference(known(flags={flag: "x"}, others=frozenset({flag})), node()) == []
    assert difference(known(others=frozenset(Flag)), node()) == []


RACKS = "gpus: 4\nracks: [{name: r1, nodes: 'n[1-2]'}]\n"


def test_what_others_say_of_a_node_stays_through_imports() -> None:
    cluster = Cluster()
    cluster.take(RACKS)
    cluster.append(health.NodeQuarantined(node="n1", owner="ada", reason="noise", exit_rule="ada"), source="operator:ada")
    cluster.append(health.NodeFailed(node="n2", reason="Xid 79"), source="dcgm")
    assert cluster.take(RACKS) == []
    assert [node.condition.value for node in cluster.state.nodes.values()] == ["quarantined", "failed"]


def test_a_quarantine_that_was_released_is_told_again_while_the_file_still_says_so() -> None:
    cluster = Cluster()
    quarantined = RACKS + "states: [{nodes: n1, state: quarantined, reason: Xid 95}]\n"
    cluster.take(quarantined)
    cluster.append(health.NodeReleased(node="n1", reason="looks well"), source="operator:ada")
    assert cluster.state.nodes["n1"].condition.value == "healthy"
    assert [type(event) for event in cluster.take(quarantined)] == [health.NodeQuarantined]
    assert [type(event) for event in cluster.take(RACKS)] == [health.NodeReleased]
    assert cluster.state.nodes["n1"].condition.value == "healthy"


def test_flags_of_a_node_that_was_away_are_compared_when_it_is_back() -> None:
    cluster = Cluster()
    cluster.take(RACKS + "states: [{nodes: n2, state: suspect}]\n")
    cluster.take("gpus: 4\nracks: [{name: r1, nodes: n1}]\n")
    assert cluster.state.nodes["n2"].condition.value == "absent"
    assert [type(event) for event in cluster.take(RACKS)] == [ev.NodeRegistered, health.NodeRecovered]
    assert cluster.state.nodes["n2"].condition.value == "healthy"
