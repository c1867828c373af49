"""How fast the network is: said in the native inventory, kept by all else."""

from __future__ import annotations

import pytest

from clusters.domain.dump import dump_state, load_state
from clusters.domain.inventory_events import RackRegistered
from clusters.inventory.export import native_yaml
from clusters.inventory.model import Known
from scheduling.domain.parallelism.cluster import network_of
from scheduling.domain.parallelism.report import FabricSource
from tests.domain.inventory.files import Cluster, messages, read, tray

WHOLE = """
kind: SlicekeeperInventory
gpus: 4
fabric_gbps: 400
blocks:
- name: b1
  racks:
  - {name: r1, nodes: "r1-n[1-2]"}
  - {name: r2, fabric_gbps: 800, nodes: "r2-n[1-2]"}
- name: b2
  fabric_gbps: 1600
  racks: [{name: r3, nodes: "r3-n[1-2]"}]
"""


def told(cluster: Cluster) -> dict[str, int | None]:
    return {name: rack.fabric_gbps for name, rack in cluster.state.racks.items()}


def test_racks_inherit_it_and_may_say_otherwise() -> None:
    cluster = Cluster()
    cluster.take(WHOLE)
    assert told(cluster) == {"r1": 400, "r2": 800, "r3": 1600}
    assert cluster.take(WHOLE) == []
    assert cluster.take(WHOLE.replace("1600", "800")) == [RackRegistered(rack="r3", block="b2", switch_trays=9, fabric_gbps=800)]


@pytest.mark.parametrize("wrong", ["0", "100001", "fast", "400.5"])
def test_what_no_port_is_gets_refused(wrong: str) -> None:
    (message,) = messages(read(WHOLE.replace("1600", wrong)), fatal=True)
    assert "fabric_gbps is" in message
    assert "give a whole number" in message


def test_it_survives_export_and_snapshots() -> None:
    cluster = Cluster()
    cluster.take(WHOLE)
    text = native_yaml(cluster.known)
    assert cluster.take(text) == []
    elsewhere = Cluster()
    elsewhere.take(text)
    assert told(elsewhere) == told(cluster)
    assert {name: rack.fabric_gbps for name, rack in load_state(dump_state(cluster.state)).racks.items()} == told(cluster)


def test_formats_that_do_not_know_it_leave_it_alone() -> None:
    cluster = Cluster()
    cluster.take_nodes([tray("n1", 1, {"topology.kubernetes.io/rack": "r1"})])
    assert told(cluster) == {"r1": None}
    cluster.take(native_yaml(cluster.known).replace("    switch_trays: 9", "    switch_trays: 9\n    fabric_gbps: 800"))
    assert told(cluster) == {"r1": 800}
    cluster.take_nodes([tray("n1", 1, {"topology.kubernetes.io/rack": "r1", "topology.kubernetes.io/zone": "z2"}), tray("n2", 1)])
    assert told(cluster)["r1"] == 800
    assert Known().fabric_gbps("r1") is None


def test_costs_go_by_what_most_racks_say_the_slower_of_equals() -> None:
    cluster = Cluster()
    cluster.take(WHOLE)
    assert network_of(cluster.state, None) == (400, FabricSource.INVENTORY)
    cluster.take(WHOLE.replace("1600", "800"))
    assert network_of(cluster.state, None) == (800, FabricSource.INVENTORY)
    assert network_of(cluster.state, 100) == (100, FabricSource.GIVEN)
    assert network_of(Cluster().state, None) == (400, FabricSource.DEFAULT)
