"""What is exported reads back as the same cluster."""

from __future__ import annotations

from clusters.domain import health_events as health
from clusters.inventory.export import native_yaml
from clusters.inventory.model import InventoryRack, Known, KnownNode
from tests.domain.inventory.files import Cluster, hgx, messages, read, tray
from tests.domain.inventory.test_native import WHOLE
from tests.support.shared import shared_path


def test_an_export_is_as_short_as_a_person_would_write_it() -> None:
    cluster = Cluster()
    cluster.take(WHOLE)
    assert native_yaml(cluster.known) == (
        """kind: SlicekeeperInventory
version: 1
gpus: 4
product: NVIDIA-GB200
blocks:
- name: su1
  racks:
  - name: r01
    switch_trays: 9
    nodes: "r01-n[01-18]"
  - name: r02
    switch_trays: 9
    domain: r02-a
    nodes:
    - "r02-n[01-09]"
    - names: "r02-n[10-18]"
      domain: r02-b
- name: su2
  racks:
  - name: "7"
    switch_trays: 8
    nodes:
    - "a[1-3]"
    - names: a4
      domain: null
      problem: "no fabric yet"
      evidence: ["Xid 149"]
  - name: hgx
    switch_trays: 0
    gpus: 8
    product: NVIDIA-H100-80GB-HBM3
    domain: each-node
    nodes: "h[1-4]"
  - name: r03
    switch_trays: 9
    domain: big
    nodes: "r03-n[1-9]"
  - name: r04
    switch_trays: 9
    domain: big
    nodes: "r04-n[1-9]"
states:
- {nodes: "r01-n[01-02]", state: quarantined, reason: "Xid 95"}
- {nodes: [h1, r01-n01], state: unreachable, reason: "said in the inventory"}
"""
    )


def test_what_was_exported_appends_nothing_when_imported_and_is_the_same_cluster_elsewhere() -> None:
    content = shared_path("data", "formats", "k8s-nodes", "gb200_nodes_2racks_constructed.json").read_bytes()
    cluster = Cluster()
    cluster.take(content)
    text = native_yaml(cluster.known)
    assert cluster.take(text) == []
    elsewhere = Cluster()
    elsewhere.take(text)
    assert elsewhere.known == cluster.known


def test_absent_nodes_and_what_others_say_are_not_inventory() -> None:
    cluster = Cluster()
    cluster.take_nodes([tray("n1", 1), tray("n2", 1), hgx("h1")])
    cluster.take_nodes([tray("n1", 1), hgx("h1")])
    cluster.append(health.NodeQuarantined(node="n1", owner="ada", reason="x", exit_rule="x"), source="operator:ada")
    text = native_yaml(cluster.known)
    assert "n2" not in text
    assert "states" not in text
    assert cluster.take(text) == []


def test_an_empty_cluster_exports_to_a_file_that_says_so() -> None:
    assert messages(read(native_yaml(Known())), fatal=True)[0].startswith("the file names no nodes")


def test_names_that_look_like_something_else_are_quoted() -> None:
    names = ["1", "007", "1e5", "null", "No", "y", "0x1f", "true", "2026-01-01"]
    known = Known(
        nodes={name: KnownNode(rack=name, domain=name + "-d", gpus=1, product=name) for name in names},
        racks={name: InventoryRack(name=name, block=name, switch_trays=0) for name in names},
    )
    inventory = read(native_yaml(known))
    assert inventory.problems == ()
    assert {node.name: (node.rack, node.domain, node.product) for node in inventory.nodes} == {
        name: (name, name + "-d", name) for name in names
    }
