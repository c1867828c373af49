"""Kubernetes nodes: what is read of each, and what each broken one is told."""

from __future__ import annotations

import pytest

from clusters.domain.health import Flag
from clusters.domain.inventory_events import NodeRegistered, RackRegistered
from clusters.inventory.delta import delta
from tests.domain.inventory.files import NOBODY, Cluster, Item, fabric, hgx, messages, node, read, read_nodes, tray
from tests.support.shared import shared_path


def only(item: Item) -> object:
    (found,) = read_nodes([item]).nodes
    return found


def test_the_reference_racks_are_36_nodes_with_one_quarantined_one_draining_and_one_unreachable() -> None:
    content = shared_path("data", "formats", "k8s-nodes", "gb200_nodes_2racks_constructed.json").read_bytes()
    inventory = read(content)
    assert inventory.problems == ()
    assert [(rack.name, rack.block, rack.switch_trays) for rack in inventory.racks] == [
        ("us-rack-a01", "nn-agg-03", 9),
        ("us-rack-a02", "nn-agg-03", 9),
    ]
    assert len(inventory.nodes) == 36
    assert {found.domain for found in inventory.nodes} == {fabric_of_sample(1), fabric_of_sample(2)}
    flagged = {found.name: [flag for flag, _ in found.flags] for found in inventory.nodes if found.flags}
    assert flagged == {
        "rack-a01-ct07": [Flag.QUARANTINED, Flag.SUSPECT],
        "rack-a02-ct03": [Flag.DRAINING],
        "rack-a02-ct11": [Flag.UNREACHABLE],
    }
    events = delta(NOBODY, inventory)
    assert sum(isinstance(event, NodeRegistered) for event in events) == 36
    assert sum(isinstance(event, RackRegistered) for event in events) == 2
    cluster = Cluster()
    assert len(cluster.take(content)) == len(events)
    assert cluster.take(content) == []
    counts = {condition.value: 0 for condition in (found.condition for found in cluster.state.nodes.values())}
    for found in cluster.state.nodes.values():
        counts[found.condition.value] += 1
    assert counts == {"healthy": 33, "quarantined": 1, "draining": 1, "unknown": 1}


def fabric_of_sample(number: int) -> str:
    return f"0a00000{number}-0000-4000-8000-00000000000{number}.2"


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (17, "document 1, item 2: this is the number 17; give a Node"),
        (None, "document 1, item 2: this is missing; give a Node"),
        ("n2", "document 1, item 2: this is the text 'n2'; give a Node"),
        ({"kind": "Node"}, "document 1, item 2: metadata.name is missing; give the node's name"),
        ({"kind": "Node", "metadata": []}, "document 1, item 2: metadata is a list; give a mapping"),
        ({"kind": "Node", "metadata": {"name": 5}}, "document 1, item 2: metadata.name is the number 5"),
        ({"kind": "Node", "metadata": {"name": ""}}, "document 1, item 2: metadata.name is empty"),
        (hgx("rack 1"), "document 1, item 2, rack 1: metadata.name is 'rack 1'; give a name that Kubernetes permits"),
        (hgx("Node-1"), "metadata.name is 'Node-1'; give a name that Kubernetes permits: lower-case"),
        (hgx("nœud"), "metadata.name is 'nœud'"),
        (hgx("n" * 300), "with 300 characters"),
        (hgx("n\x00\n"), "metadata.name is"),
        (node("n2", gpus="four"), "document 1, item 2, n2: status.capacity nvidia.com/gpu is 'four'; give a whole number from 0 to 256"),
        (node("n2", gpus="-4"), "status.capacity nvidia.com/gpu is '-4'"),
        (node("n2", gpus=100_000), "status.capacity nvidia.com/gpu is '100000'"),
        (node("n2", {"nvidia.com/gpu.count": "x"}), "label nvidia.com/gpu.count is 'x'"),
        (node("n2", {"topology.kubernetes.io/rack": "row 1/rack 2"}), "label topology.kubernetes.io/rack is 'row 1/rack 2'; give a value"),
        (node("n2", {"x": ["y"]}), "label x is a list; give text"),
        (hgx("n1", gpus=4), "document 1, item 2, n1: this node is given with other content at document 1, item 1; give each node once"),
    ],
)
def test_a_broken_item_is_named_with_its_position_and_refuses_the_file(item: object, told: str) -> None:
    inventory = read_nodes([hgx("n1"), item, hgx("n3")])
    assert inventory.nodes == ()
    assert inventory.racks == ()
    assert any(told in message for message in messages(inventory, fatal=True)), messages(inventory, fatal=True)


def test_every_broken_item_is_named_not_only_the_first() -> None:
    inventory = read_nodes([1, hgx("n2"), hgx("N 3"), {"kind": "Node"}])
    assert [message.partition(":")[0] for message in messages(inventory, fatal=True)] == [
        "document 1, item 1",
        "document 1, item 3, N 3",
        "document 1, item 4",
    ]


def test_odd_names_that_kubernetes_permits_pass() -> None:
    names = ["0", "ip-10-0-1-1.ec2.internal", "a" * 253, "gke-x-default-pool-3f2a-z1b2"]
    assert {found.name for found in read_nodes([hgx(name) for name in names]).nodes} == set(names)


def test_the_same_node_twice_with_the_same_content_counts_once() -> None:
    first, again = tray("n1", 1), tray("n1", 1)
    again["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-11-20T08:00:00Z"  # type: ignore[index]
    again["metadata"]["resourceVersion"] = "77"  # type: ignore[index]
    inventory = read_nodes([first, again])
    assert [found.name for found in inventory.nodes] == ["n1"]
    assert messages(inventory, fatal=False) == ["1 node given again with the same content taken once: n1"]


def test_nodes_without_gpus_and_virtual_ones_are_left_out_and_counted() -> None:
    items = [
        hgx("gpu-1"),
        node("cpu-2", gpus=None),
        node("cpu-1", gpus=0),
        node("aci", {"type": "virtual-kubelet"}, gpus=1_000_000),
        node("liqo", taints=[{"key": "virtual-kubelet.io/provider", "effect": "NoExecute"}], gpus=64),
        hgx("kwok-1", {"type": "kwok"}),
    ]
    inventory = read_nodes(items)
    assert [found.name for found in inventory.nodes] == ["gpu-1", "kwok-1"]
    assert messages(inventory, fatal=False) == [
        "2 nodes without GPUs left out: cpu-1, cpu-2",
        "2 nodes that stand for machines elsewhere (virtual-kubelet) left out: aci, liqo",
    ]


@pytest.mark.parametrize(
    ("capacity", "labels", "gpus", "doubt"),
    [
        ("4", {}, 4, None),
        (None, {"nvidia.com/gpu.count": "4"}, 4, None),
        ("4", {"nvidia.com/gpu.count": "4"}, 4, None),
        ("3", {"nvidia.com/gpu.count": "4"}, 3, "status.capacity has 3 of its 4 GPUs"),
        ("0", {"nvidia.com/gpu.count": "4"}, 4, "status.capacity has 0 of its 4 GPUs"),
        ("16", {"nvidia.com/gpu.count": "4", "nvidia.com/gpu.replicas": "4"}, 4, None),
        ("8", {"nvidia.com/gpu.count": "4"}, 8, None),
    ],
)
def test_gpus_come_from_the_capacity_else_from_the_label(
    capacity: str | None, labels: dict[str, str], gpus: int, doubt: str | None
) -> None:
    inventory = read_nodes([node("n1", labels, gpus=capacity)])
    (found,) = inventory.nodes
    assert found.gpus == gpus
    assert dict(found.flags).get(Flag.SUSPECT) == doubt
    disagree = [told for told in messages(inventory, fatal=False) if "make them agree" in told]
    assert bool(disagree) == (doubt is not None or gpus == 8)


def test_a_node_with_unhealthy_gpus_is_suspect() -> None:
    item = tray("n1", 1)
    item["status"]["allocatable"] = {"nvidia.com/gpu": "3"}  # type: ignore[index]
    (found,) = read_nodes([item]).nodes
    assert (found.gpus, dict(found.flags)) == (4, {Flag.SUSPECT: "status.allocatable has 3 of its 4 GPUs"})


def test_a_known_node_that_lost_sight_of_its_gpus_stays_and_is_suspect() -> None:
    cluster = Cluster()
    cluster.take_nodes([tray("n1", 1), tray("n2", 1)])
    cluster.take_nodes([tray("n1", 1), node("n2", gpus=0)])
    assert cluster.state.nodes["n2"].gpus == 4
    assert cluster.state.nodes["n2"].domain == fabric(1)
    assert not cluster.state.nodes["n2"].placeable


def test_unquoted_label_values_of_a_hand_written_file_are_read_as_text() -> None:
    text = """
kind: Node
metadata: {name: n1, labels: {nvidia.com/gpu.count: 8, nvidia.com/mig.capable: true}}
status: {conditions: [{type: Ready, status: "True"}]}
"""
    (found,) = read(text).nodes
    assert (found.gpus, found.flags) == (8, ())
