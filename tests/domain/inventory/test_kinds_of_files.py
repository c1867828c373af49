"""Whatever file is given: an inventory, or one sentence that says what was found and what would be right."""

from __future__ import annotations

import json

import pytest

from clusters.inventory.model import WANTED, Options
from tests.domain.inventory.files import fabric, messages, node, node_list, read, tray
from tests.support.shared import shared_path

NODE = tray("n1", 1)


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (json.dumps(NODE), ["n1"]),
        (json.dumps([NODE, tray("n2", 1)]), ["n1", "n2"]),
        (json.dumps({"apiVersion": "v1", "kind": "List", "items": [NODE]}), ["n1"]),
        (json.dumps({"kind": "NodeList", "items": [{key: NODE[key] for key in ("metadata", "spec", "status")}]}), ["n1"]),
        (json.dumps(NODE) + "\n" + json.dumps(tray("n2", 1)), ["n1", "n2"]),
        (f"---\n{json.dumps(NODE)}\n---\n---\n{json.dumps(tray('n2', 1))}\n", ["n1", "n2"]),
        (f"# printed by kubectl\n{json.dumps(NODE)}", ["n1"]),
    ],
    ids=["one node", "a bare list", "a List", "the API's NodeList, items without kind", "jq .items[]", "documents", "a comment first"],
)
def test_nodes_are_found_however_they_were_printed(content: str, names: list[str]) -> None:
    inventory = read(content)
    assert messages(inventory, fatal=True) == []
    assert [found.name for found in inventory.nodes] == names


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("kind: Deployment\napiVersion: apps/v1\nmetadata: {name: x}", "1 apps/v1 Deployment"),
        ('{"kind": "PodList", "apiVersion": "v1", "items": []}', "1 PodList"),
        ('{"kind": "List", "apiVersion": "v1", "items": [{"kind": "Pod", "apiVersion": "v1"}]}', "1 Pod"),
        ('{"kind": "NodeList", "apiVersion": "v1", "items": []}', "a Kubernetes NodeList without items"),
        ('{"kind": "NodeList", "apiVersion": "v1", "items": null}', "a Kubernetes NodeList without items"),
        ("apiVersion: longhorn.io/v1beta2\nkind: Node\nmetadata: {name: x}", "1 longhorn.io/v1beta2 Node"),
        ("The quick brown fox", "plain text ('The quick brown fox')"),
        ("NAME   STATUS   ROLES\nn1     Ready    <none>", "plain text ('NAME   STATUS"),
        ("BlockName=rack01 Nodes=gb01-ct[01-18]\nBlockSizes=16,32", "a Slurm configuration or topology file"),
        ("# common\nNodeName=n[1-18] Gres=gpu:4: x\nfoo: [", "a Slurm configuration or topology file"),
        ("- topology: nvl72\n  block: {block_sizes: [18]}", "a Slurm topology.yaml"),
        ('{"nodes": [], "meta": {"slurm": {}}}', "an answer of Slurm without nodes"),
        ("switches: {core: {}}\nblocks: []", "a Topograph model"),
        ("[1, 2, 3]", "a list of 3 items that are not nodes"),
        ("{}", "an empty mapping"),
        ("a: 1\nb: 2\nc: 3\nd: 4\ne: 5", "a mapping with the keys a, b, c, d, …"),
        ("---\n---\n", "an empty file"),
        ("# nothing\n", "an empty file"),
        ("42", "plain text ('42')"),
    ],
)
def test_the_wrong_kind_of_file_is_named(content: str, found: str) -> None:
    inventory = read(content)
    assert inventory.nodes == ()
    (told,) = messages(inventory, fatal=True)
    assert told.startswith("the file holds ")
    assert found in told
    assert told.endswith(WANTED)


def test_a_native_inventory_with_a_kubernetes_node_behind_it_is_refused() -> None:
    inventory = read(f"kind: SlicekeeperInventory\ngpus: 4\nracks: [{{name: r1, nodes: n1}}]\n---\n{json.dumps(NODE)}")
    assert messages(inventory, fatal=True) == [
        "document 2: this is an object of kind Node among native inventories; give files of one kind only"
    ]


def test_other_kinds_among_nodes_are_left_out_and_counted() -> None:
    inventory = read(node_list([NODE, {"kind": "Pod", "apiVersion": "v1"}, {"kind": "Pod", "apiVersion": "v1"}, {"kind": "ConfigMap"}]))
    assert [found.name for found in inventory.nodes] == ["n1"]
    assert messages(inventory, fatal=False) == ["objects that are no nodes left out: 1 ConfigMap, 2 Pod"]


def test_a_label_option_that_is_no_label_is_told() -> None:
    inventory = read(node_list([NODE]), options=Options(rack_label="example.com/raack"))
    assert [told for told in messages(inventory, fatal=False) if "no node has this label" in told]
    assert inventory.nodes[0].rack == fabric(1).rpartition(".")[0]
    native = read("racks: [{name: r1, gpus: 4, nodes: n1}]", options=Options(domain_label="a/b"))
    assert messages(native, fatal=False) == ["a/b: a native inventory has no labels; name racks and domains in the file"]


def test_a_file_without_gpu_nodes_is_refused_rather_than_taken_for_an_empty_cluster() -> None:
    inventory = read(node_list([node("cpu-1", gpus=None), node("cpu-2", gpus=0)]))
    (told,) = messages(inventory, fatal=True)
    assert told.startswith("none of the 2 nodes has nvidia.com/gpu")


def test_every_other_file_of_the_reference_data_is_refused_by_name() -> None:
    formats = shared_path("data", "formats")
    read_by_us = ("k8s-nodes/", "slurm/slurmrestd-0.0.44-slurm-node")
    files = [file for file in sorted(formats.glob("*/*")) if file.is_file() and not str(file.relative_to(formats)).startswith(read_by_us)]
    assert len(files) > 50
    for file in files:
        inventory = read(file.read_bytes())
        assert inventory.refused, file
        assert len(messages(inventory, fatal=True)) == 1, file
        assert inventory.nodes == ()
