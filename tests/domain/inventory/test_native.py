"""The native inventory: short to write, inherited inwards, and each mistake told where it is."""

from __future__ import annotations

import pytest

from clusters.domain.health import Flag
from clusters.inventory.model import InventoryRack
from tests.domain.inventory.files import messages, read

WHOLE = """
kind: SlicekeeperInventory
version: 1
gpus: 4
product: NVIDIA-GB200
blocks:
- name: su1
  racks:
  - {name: r01, nodes: "r01-n[01-18]"}
  - name: r02
    nodes:
    - {names: "r02-n[01-09]", domain: r02-a}
    - {names: "r02-n[10-18]", domain: r02-b}
- name: su2
  racks:
  - {name: r03, domain: big, nodes: "r03-n[1-9]"}
  - {name: r04, domain: big, nodes: "r04-n[1-9]"}
  - {name: hgx, domain: each-node, gpus: 8, product: NVIDIA-H100-80GB-HBM3, nodes: "h[1-4]"}
  - name: 7
    switch_trays: 8
    nodes: [a1, "a[2-3]", {names: a4, domain: null, problem: no fabric yet, evidence: Xid 149}]
states:
- {nodes: "r01-n[01-02]", state: quarantined, reason: Xid 95}
- {nodes: [r01-n01, h1], state: unreachable}
"""


def test_a_whole_inventory_reads_as_it_looks() -> None:
    inventory = read(WHOLE)
    assert inventory.problems == ()
    assert inventory.racks == (
        InventoryRack(name="7", block="su2", switch_trays=8),
        InventoryRack(name="hgx", block="su2", switch_trays=0),
        InventoryRack(name="r01", block="su1", switch_trays=9),
        InventoryRack(name="r02", block="su1", switch_trays=9),
        InventoryRack(name="r03", block="su2", switch_trays=9),
        InventoryRack(name="r04", block="su2", switch_trays=9),
    )
    nodes = {node.name: node for node in inventory.nodes}
    assert len(nodes) == 18 + 18 + 9 + 9 + 4 + 4
    assert {nodes[f"r01-n{n:02d}"].domain for n in range(1, 19)} == {"r01"}
    assert [nodes[f"r02-n{n:02d}"].domain for n in (9, 10)] == ["r02-a", "r02-b"]
    assert nodes["r03-n1"].domain == nodes["r04-n9"].domain == "big"
    assert [(nodes[name].domain, nodes[name].gpus, nodes[name].product) for name in ("h1", "h4")] == [
        ("h1", 8, "NVIDIA-H100-80GB-HBM3"),
        ("h4", 8, "NVIDIA-H100-80GB-HBM3"),
    ]
    assert (nodes["a1"].rack, nodes["a1"].domain, nodes["a1"].gpus) == ("7", "7", 4)
    assert (nodes["a4"].domain, nodes["a4"].problem, nodes["a4"].evidence) == (None, "no fabric yet", ("Xid 149",))
    assert nodes["r01-n01"].flags == ((Flag.UNREACHABLE, "said in the inventory"), (Flag.QUARANTINED, "Xid 95"))
    assert nodes["r01-n02"].flags == ((Flag.QUARANTINED, "Xid 95"),)
    assert nodes["r01-n03"].flags == ()


def test_racks_alone_are_an_inventory_too() -> None:
    inventory = read("gpus: 4\nracks:\n- {name: r1, nodes: 'n[1-2]'}\n- {name: r2, block: b, nodes: n3}\n")
    assert [(rack.name, rack.block, rack.switch_trays) for rack in inventory.racks] == [("r1", "default", 9), ("r2", "b", 9)]
    assert inventory.problems == ()


def test_several_documents_are_one_inventory() -> None:
    inventory = read("racks: [{name: r1, gpus: 4, nodes: n1}]\n---\nkind: SlicekeeperInventory\nracks: [{name: r2, gpus: 8, nodes: n2}]\n")
    assert [(node.name, node.gpus) for node in inventory.nodes] == [("n1", 4), ("n2", 8)]


def test_a_node_without_a_known_domain_says_so() -> None:
    (node,) = read("racks: [{name: r1, gpus: 4, domain: null, nodes: n1}]").nodes
    assert (node.domain, node.problem) == (None, "NVLink domain unknown, so never part of a slice")


def rack(text: str) -> str:
    return f"racks:\n- name: r1\n  gpus: 4\n  nodes: n[1-2]\n- {text}\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("racks: 5", "document 1: racks is the number 5; give a list"),
        ("racks: []", "the file names no nodes; give racks with nodes"),
        ("racks: [7]", "document 1, rack 1: this is the number 7; give a mapping of fields"),
        (
            "kind: SlicekeeperInventory\nblocks: [{racks: [{name: r1, gpus: 4, nodes: n1}]}]",
            "document 1, block 1: name is missing; give letters",
        ),
        ("version: 2\nracks: [{name: r1, gpus: 4, nodes: n1}]", "document 1: version is 2; this program reads version 1"),
        ("blcks: []\nracks: [{name: r1, gpus: 4, nodes: n1}]", "there is no field 'blcks' here; did you mean blocks?"),
        (
            "racks: [{name: r1, gpus: 4, nodes: n1, rack_unit: 3}]",
            "document 1, rack 1, r1: there is no field 'rack_unit' here; give name, block",
        ),
        (rack("{name: r2, nodes: n3}"), "document 1, rack 2, r2: gpus is missing; give the number of GPUs of a node here"),
        (rack("{name: r2, gpus: 0, nodes: n3}"), "document 1, rack 2, r2: gpus is the number 0; give a whole number from 1 to 256"),
        (rack("{name: r2, gpus: '4', nodes: n3}"), "gpus is the text '4'; give a whole number"),
        (rack("{name: r2, gpus: true, nodes: n3}"), "gpus is true; give a whole number"),
        (rack("{name: r2, gpus: 4, switch_trays: -1, nodes: n3}"), "switch_trays is the number -1; give a whole number from 0 to 64"),
        (rack("{name: r 2, gpus: 4, nodes: n3}"), "document 1, rack 2, r 2: name is the text 'r 2'; give letters"),
        (rack("{name: true, gpus: 4, nodes: n3}"), "name is true; give letters"),
        (rack("{gpus: 4, nodes: n3}"), "document 1, rack 2: name is missing; give letters"),
        (rack("{name: r2, gpus: 4}"), "document 1, rack 2, r2: nodes is missing; give a range like n[01-18]"),
        (rack("{name: r2, gpus: 4, nodes: []}"), "nodes is empty; give a range"),
        (rack("{name: r2, gpus: 4, nodes: true}"), "names is true; give a range like n[01-18]"),
        (rack("{name: r2, gpus: 4, nodes: 'n[9-3]'}"), "nodes 'n[9-3]': the range 9-3 runs backwards; give 3-9"),
        (
            rack("{name: r2, gpus: 4, nodes: [n3, {name: n4}]}"),
            "document 1, rack 2, nodes 2, n4: there is no field 'name' here; did you mean names?",
        ),
        (
            rack("{name: r2, gpus: 4, nodes: [n3, n2]}"),
            "document 1, rack 2, nodes 2, r2: node n2 is given at document 1, rack 1 too; give each node once",
        ),
        (rack("{name: r1, gpus: 4, nodes: n3}"), "document 1, rack 2, r1: this rack is given twice"),
        (rack("{name: r2, gpus: 4, domain: a b, nodes: n3}"), "domain is the text 'a b'; give letters"),
        (rack("{name: r2, gpus: 4, product: [x], nodes: n3}"), "product is a list; give text"),
        (rack("{name: r2, gpus: 4, nodes: {names: n3, evidence: [1]}}"), "evidence is a list with other values than text; give texts"),
        (
            "kind: SlicekeeperInventory\ngpus: 4\nblocks: [{name: b1, racks: [{name: r1, block: b2, nodes: n1}]}]",
            "document 1, block 1, rack 1, r1: block is 'b2' inside block 'b1'; leave it out, or move the rack",
        ),
        (
            rack("{name: r2, gpus: 4, nodes: n3}") + "states: [{nodes: n1, state: broken}]",
            "document 1, state 1: state is 'broken'; give one of unreachable",
        ),
        (
            rack("{name: r2, gpus: 4, nodes: n3}") + "states: [{nodes: n7, state: suspect}]",
            "n7: states names this node, but no rack has it",
        ),
        (
            rack("{name: r2, gpus: 4, nodes: n3}") + "states: [{nodes: n1, state: suspect}, {nodes: n1, state: suspect}]",
            "document 1, state 2: node n1 is given as suspect twice",
        ),
    ],
)
def test_each_mistake_is_told_where_it_is(text: str, told: str) -> None:
    inventory = read(text)
    assert inventory.refused
    assert inventory.nodes == ()
    found = messages(inventory, fatal=True)
    assert any(message.startswith(told) or told in message for message in found), found


def test_an_early_mistake_does_not_hide_a_later_one() -> None:
    inventory = read(rack("{name: r2, gpus: x, nodes: 'n[3'}") + "- {name: r3, gpus: 4, nods: n4}")
    assert len(messages(inventory, fatal=True)) >= 3
