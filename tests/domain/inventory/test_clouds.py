"""The label variants of five clouds and tools, as nodes: two racks of each land in two racks of one block."""

from __future__ import annotations

import json

import pytest

from clusters.inventory.model import Options
from tests.domain.inventory.files import Cluster, Item, fabric, messages, node, read_nodes
from tests.support.shared import shared_path

CLIQUE = "nvidia.com/gpu.clique"
GB200 = {"nvidia.com/gpu.product": "NVIDIA-GB200"}


def uuid(rack: int) -> str:
    return fabric(rack).rpartition(".")[0]


def aws(rack: int, hyperpod: bool = True) -> dict[str, str]:
    labels = {f"topology.k8s.aws/network-node-layer-{layer}": name for layer, name in enumerate(("spine", "agg", f"leaf-{rack}"), start=1)}
    labels |= {"topology.k8s.aws/capacity-block-id": "cr-0123", CLIQUE: fabric(rack)}
    return labels | ({"topology.k8s.aws/ultraserver-id": f"us-{rack}"} if hyperpod else {})


def eks(rack: int) -> dict[str, str]:
    return aws(rack, hyperpod=False) | {"accelerator.topograph.run/domain": "cr-0123"}


def gcp(rack: int) -> dict[str, str]:
    return {
        "cloud.google.com/gce-topology-block": "block-1",
        "cloud.google.com/gce-topology-subblock": f"subblock-{rack}",
        "cloud.google.com/gke-nodepool": "a4x",
        "cloud.google.com/gke-accelerator": "nvidia-gb200",
        CLIQUE: fabric(rack),
    }


def oci(rack: int) -> dict[str, str]:
    return {
        "oci.oraclecloud.com/host.network_block_id": "nb-1",
        "oci.oraclecloud.com/host.rack_id": f"rack-{rack}",
        "oci.oraclecloud.com/rdma.hpc_island_id": "af7ubvouuyq",
        "oci.oraclecloud.com/rdma.network_block_id": "7xmzl4p4wba",
        "oci.oraclecloud.com/rdma.local_block_id": "4tjxbt4s6ua",
        CLIQUE: fabric(rack),
    }


def topograph(rack: int) -> dict[str, str]:
    tiers = {f"fabric.topograph.run/tier-{tier}": name for tier, name in enumerate((f"leaf-{rack}", "spine-1", "core"))}
    return {"accelerator.topograph.run/domain": f"nvl-{rack}", **tiers}


def legacy_topograph(rack: int) -> dict[str, str]:
    prefix = "network.topology.nvidia.com"
    return {
        f"{prefix}/accelerator": f"nvl-{rack}",
        f"{prefix}/leaf": f"leaf-{rack}",
        f"{prefix}/spine": "spine-1",
        f"{prefix}/core": "core",
    }


def coreweave(rack: int) -> dict[str, str]:
    return {"ds.coreweave.com/nvlink.domain": f"DH{rack}-001", "backend.coreweave.cloud/leafgroup": "17", CLIQUE: fabric(rack)}


CLOUDS = {
    "aws_p6e_gb200": (aws, "us-{}", "agg"),
    "eks without ultraservers": (eks, "uuid", "agg"),
    "gcp_a4x": (gcp, "subblock-{}", "block-1"),
    "oci": (oci, "rack-{}", "nb-1"),
    "topograph": (topograph, "nvl-{}", "spine-1"),
    "legacy_topograph": (legacy_topograph, "nvl-{}", "spine-1"),
    "gpu_operator": (lambda rack: {CLIQUE: fabric(rack)}, "uuid", "default"),
    "coreweave": (coreweave, "DH{}-001", "17"),
}


def two_racks(cloud: str) -> list[Item]:
    labels = CLOUDS[cloud][0]
    return [node(f"r{rack}-n{n:02d}", GB200 | labels(rack)) for rack in (1, 2) for n in range(1, 19)]


@pytest.mark.parametrize("cloud", CLOUDS)
def test_two_racks_of_each_cloud_are_two_racks_of_one_block(cloud: str) -> None:
    _, name, block = CLOUDS[cloud]
    inventory = read_nodes(two_racks(cloud))
    expected = [uuid(rack) if name == "uuid" else name.format(rack) for rack in (1, 2)]
    assert [(rack.name, rack.block, rack.switch_trays) for rack in inventory.racks] == [(rack, block, 9) for rack in expected]
    for rack, found in zip([expected[0]] * 18 + [expected[1]] * 18, inventory.nodes, strict=True):
        assert found.rack == rack
    with_cliques = "topograph" not in cloud
    assert {found.domain for found in inventory.nodes} == ({fabric(1), fabric(2)} if with_cliques else {None})
    cluster = Cluster()
    cluster.take_nodes(two_racks(cloud))
    assert cluster.take_nodes(reversed(two_racks(cloud))) == []


def test_a_capacity_block_over_two_racks_is_told_and_is_no_rack() -> None:
    assert messages(read_nodes(two_racks("eks without ultraservers")), fatal=False) == [
        f"accelerator.topograph.run/domain=cr-0123: this value covers 2 NVLink fabrics ({uuid(1)}, {uuid(2)}) and is no rack; "
        "the next label is taken"
    ]


def test_topographs_domain_can_be_named_as_the_domain_where_no_clique_is_told() -> None:
    inventory = read_nodes(two_racks("topograph"), options=Options(domain_label="accelerator.topograph.run/domain"))
    assert {found.domain for found in inventory.nodes} == {"nvl-1", "nvl-2"}
    assert inventory.problems == ()


def test_the_variants_of_the_reference_data_are_all_covered() -> None:
    variants = json.loads(shared_path("data", "formats", "cloud-topology", "label_variants.json").read_text())
    clouds = set(variants) - {"kueue_levels_examples"}
    assert clouds <= set(CLOUDS)
