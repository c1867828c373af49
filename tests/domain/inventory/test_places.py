"""Where Kubernetes nodes are drawn, and which domain they belong to."""

from __future__ import annotations

import pytest

from clusters.inventory.model import InventoryRack, Options
from tests.domain.inventory.files import fabric, hgx, messages, node, read_nodes, tray

ULTRA = "topology.k8s.aws/ultraserver-id"
COREWEAVE = "ds.coreweave.com/nvlink.domain"
RACK = "topology.kubernetes.io/rack"
SUBBLOCK = "cloud.google.com/gce-topology-subblock"
BLOCK = "cloud.google.com/gce-topology-block"
TOPOGRAPH = "accelerator.topograph.run/domain"
OLD_TOPOGRAPH = "network.topology.nvidia.com/accelerator"
CLIQUE = "nvidia.com/gpu.clique"
PRODUCT = "nvidia.com/gpu.product"


def uuid(number: int) -> str:
    return fabric(number).rpartition(".")[0]


@pytest.mark.parametrize(
    ("labels", "rack"),
    [
        ({"own": "o", ULTRA: "u", COREWEAVE: "c", RACK: "r", SUBBLOCK: "s", TOPOGRAPH: "t"}, "o"),
        ({ULTRA: "u", COREWEAVE: "c", RACK: "r", SUBBLOCK: "s", TOPOGRAPH: "t"}, "u"),
        ({COREWEAVE: "c", RACK: "r", SUBBLOCK: "s", TOPOGRAPH: "t"}, "c"),
        ({RACK: "r", SUBBLOCK: "s", TOPOGRAPH: "t"}, "r"),
        ({SUBBLOCK: "s", TOPOGRAPH: "t"}, "s"),
        ({ULTRA: "", TOPOGRAPH: "t"}, uuid(1)),
    ],
)
def test_the_first_label_that_names_a_rack_wins(labels: dict[str, str], rack: str) -> None:
    (found,) = read_nodes([tray("n1", 1, labels)], options=Options(rack_label="own")).nodes
    assert (found.rack, found.domain) == (rack, fabric(1))


@pytest.mark.parametrize("label", [TOPOGRAPH, OLD_TOPOGRAPH])
def test_topographs_domain_is_the_rack_where_nothing_better_is_known(label: str) -> None:
    (found,) = read_nodes([hgx("n1", {label: "nvl-1"})]).nodes
    assert found.rack == "nvl-1"


def test_a_value_that_covers_two_fabrics_is_no_rack_and_the_next_is_taken() -> None:
    items = [tray("n1", 1, {RACK: "row-7", SUBBLOCK: "s1"}), tray("n2", 2, {RACK: "row-7", SUBBLOCK: "s2"}), hgx("n3", {RACK: "row-7"})]
    inventory = read_nodes(items)
    assert [(found.name, found.rack) for found in inventory.nodes] == [("n3", "block:default"), ("n1", "s1"), ("n2", "s2")]
    assert messages(inventory, fatal=False) == [
        f"{RACK}=row-7: this value covers 2 NVLink fabrics ({uuid(1)}, {uuid(2)}) and is no rack; the next label is taken"
    ]


def test_the_label_that_the_user_names_is_held_to_the_same() -> None:
    items = [tray("n1", 1, {"own": "x"}), tray("n2", 2, {"own": "x"})]
    inventory = read_nodes(items, options=Options(rack_label="own"))
    assert {found.rack for found in inventory.nodes} == {uuid(1), uuid(2)}


def test_two_partitions_of_one_fabric_are_two_domains_in_one_rack() -> None:
    items = [node(f"n{n}", {PRODUCT: "NVIDIA-GB300", CLIQUE: fabric(1, clique=n // 10 + 1)}) for n in range(18)]
    inventory = read_nodes(items)
    assert [(rack.name, rack.switch_trays) for rack in inventory.racks] == [(uuid(1), 9)]
    assert {found.domain for found in inventory.nodes} == {fabric(1, 1), fabric(1, 2)}


def test_one_fabric_over_two_racks_is_one_domain() -> None:
    items = [tray(f"n{n:02d}", 1, {RACK: f"r{n // 9}"}) for n in range(18)]
    inventory = read_nodes(items)
    assert [(rack.name, rack.switch_trays) for rack in inventory.racks] == [("r0", 9), ("r1", 9)]
    assert {found.domain for found in inventory.nodes} == {fabric(1)}


def test_a_server_is_a_domain_of_its_own_and_is_drawn_with_its_block() -> None:
    inventory = read_nodes([hgx("h1", {BLOCK: "b1"}), hgx("h2", {BLOCK: "b1"}), hgx("h3"), hgx("h4", {RACK: "r9", BLOCK: "b1"})])
    assert [(found.name, found.rack, found.domain) for found in inventory.nodes] == [
        ("h1", "block:b1", "h1"),
        ("h2", "block:b1", "h2"),
        ("h3", "block:default", "h3"),
        ("h4", "r9", "h4"),
    ]
    assert inventory.racks == (
        InventoryRack(name="block:b1", block="b1", switch_trays=0),
        InventoryRack(name="block:default", block="default", switch_trays=0),
        InventoryRack(name="r9", block="b1", switch_trays=0),
    )
    assert inventory.problems == ()


@pytest.mark.parametrize(
    ("clique", "why"),
    [
        (None, f"it has no label {CLIQUE}"),
        ("00000000-0000-0000-0000-000000000000.0", "has an all-zero ClusterUUID, which is no fabric"),
        ("pending", f"its label {CLIQUE}=pending is not <ClusterUUID>.<CliqueID>"),
        (f"{uuid(1)}.", None),
    ],
)
@pytest.mark.parametrize(
    "product",
    [
        {PRODUCT: "NVIDIA-GB200"},
        {PRODUCT: "NVIDIA-GB300-288GB"},
        {"nvidia.com/gpu.machine": "GB200-NVL"},
        {"nvidia.com/gpu.machine": "Vendor-X-NVL72"},
        {"cloud.google.com/gke-accelerator": "nvidia-gb200"},
        {"node.kubernetes.io/instance-type": "a4x-highgpu-4g"},
        {"node.kubernetes.io/instance-type": "p6e-gb200.36xlarge"},
    ],
)
def test_a_rack_scale_node_without_a_fabric_is_a_data_error(clique: str | None, why: str | None, product: dict[str, str]) -> None:
    labels = product | ({CLIQUE: clique} if clique else {})
    inventory = read_nodes([tray("n1", 1), node("n2", labels)])
    if why is None:  # not even a label value that Kubernetes permits
        assert inventory.refused
        return
    found = {found.name: found for found in inventory.nodes}
    assert found["n2"].domain is None
    assert why in found["n2"].problem
    assert messages(inventory, fatal=False) == [f"document 1, item 2, n2: {found['n2'].problem}"]
    assert found["n1"].domain == fabric(1)


@pytest.mark.parametrize(
    "product", ["NVIDIA-H100-NVL", "NVIDIA-H200-NVL", "NVIDIA-B200", "NVIDIA-A100-SXM4-80GB", "NVIDIA-GB10", "GB200-NVL4"]
)
def test_nvlink_inside_one_node_makes_no_rack(product: str) -> None:
    inventory = read_nodes([node("n1", {PRODUCT: product, CLIQUE: "00000000-0000-0000-0000-000000000000.0"})])
    assert [found.domain for found in inventory.nodes] == ["n1"]
    assert inventory.problems == ()


def test_a_node_of_unknown_product_with_rack_mates_that_have_a_clique_is_a_data_error() -> None:
    inventory = read_nodes([node("n1", {RACK: "r1", CLIQUE: fabric(1)}), node("n2", {RACK: "r1"}), node("n3", {RACK: "r2"})])
    assert {found.name: found.domain for found in inventory.nodes} == {"n1": fabric(1), "n2": None, "n3": "n3"}


def test_the_named_domain_label_comes_before_the_clique_but_may_not_join_fabrics() -> None:
    options = Options(domain_label="pod")
    items = [tray("n1", 1, {"pod": "a"}), tray("n2", 1, {"pod": "b"}), tray("n3", 1), hgx("h1", {"pod": "c"}), hgx("h2", {"pod": "c"})]
    inventory = read_nodes(items, options=options)
    assert {found.name: found.domain for found in inventory.nodes} == {"n1": "a", "n2": "b", "n3": fabric(1), "h1": "c", "h2": "c"}
    inventory = read_nodes([tray("n1", 1, {"pod": "a"}), tray("n2", 2, {"pod": "a"})], options=options)
    assert {found.domain for found in inventory.nodes} == {fabric(1), fabric(2)}
    assert ["is no domain; the clique is taken" in told for told in messages(inventory, fatal=False)] == [True]


def test_the_block_is_what_most_nodes_of_the_rack_name_and_a_dissent_is_told() -> None:
    items = [tray(f"n{n}", 1, {BLOCK: "b2" if n == 3 else "b1"}) for n in range(5)]
    inventory = read_nodes(items)
    assert [rack.block for rack in inventory.racks] == ["b1"]
    assert messages(inventory, fatal=False) == [f"{uuid(1)}: its nodes name 2 blocks (b1 4 times, b2 1 times); b1 taken"]


def test_a_clique_that_makes_no_sense_is_a_data_error_whatever_the_product() -> None:
    (found,) = read_nodes([hgx("h1", {CLIQUE: "pending"})]).nodes
    assert (found.domain, bool(found.problem)) == (None, True)
