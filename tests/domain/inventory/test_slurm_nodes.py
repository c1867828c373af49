"""What is read of each Slurm node, and what its states mean."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clusters.domain.health import Flag
from clusters.inventory.slurm_nodes import QUIET, STATE_FLAGS, TOLD
from tests.domain.inventory.files import Cluster, messages, read
from tests.domain.inventory.slurm_files import read_slurm, slurm_answer, slurm_node, take_slurm
from tests.support.shared import shared_path

ROW = "BlockName=r1 Nodes=n[1-9]"


def flags(*states: str, reason: str = "", **more: Any) -> dict[Flag, str]:
    inventory = read_slurm([slurm_node("n1", *states, reason=reason, **more)], ROW)
    assert messages(inventory, fatal=True) == []
    return dict(inventory.nodes[0].flags)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (("IDLE",), {}),
        (("MIXED", "PLANNED"), {}),
        (("ALLOCATED", "COMPLETING", "CLOUD"), {}),
        (("IDLE", "RESERVED"), {}),
        (("DOWN",), {Flag.FAILED: "DOWN: why"}),
        (("DOWN", "NOT_RESPONDING"), {Flag.UNREACHABLE: "NOT_RESPONDING: why"}),
        (("ALLOCATED", "NOT_RESPONDING"), {Flag.UNREACHABLE: "NOT_RESPONDING: why"}),
        (("IDLE", "CLOUD", "POWERED_DOWN"), {Flag.UNREACHABLE: "POWERED_DOWN: why"}),
        (("DOWN", "POWERING_UP", "NOT_RESPONDING"), {Flag.UNREACHABLE: "NOT_RESPONDING+POWERING_UP: why"}),
        (("IDLE", "DRAIN"), {Flag.DRAINING: "DRAIN: why"}),
        (("ALLOCATED", "MAINTENANCE"), {Flag.DRAINING: "MAINTENANCE: why"}),
        (("DOWN", "DRAIN"), {Flag.FAILED: "DOWN: why", Flag.DRAINING: "DRAIN: why"}),
        (("ALLOCATED", "FAIL"), {Flag.QUARANTINED: "FAIL: why"}),
        (("IDLE", "DRAIN", "INVALID_REG"), {Flag.DRAINING: "DRAIN: why", Flag.SUSPECT: "INVALID_REG: why"}),
        (("UNKNOWN",), {Flag.UNREACHABLE: "UNKNOWN: why"}),
    ],
)
def test_each_state_raises_its_flag(states: tuple[str, ...], expected: dict[Flag, str]) -> None:
    assert flags(*states, reason="why") == expected


def test_a_flag_without_a_reason_names_the_state_alone() -> None:
    assert flags("IDLE", "DRAIN") == {Flag.DRAINING: "DRAIN"}


def test_older_versions_say_the_state_in_one_text() -> None:
    assert flags(state="down", state_flags=["DRAIN"]) == {Flag.FAILED: "DOWN", Flag.DRAINING: "DRAIN"}
    assert flags(state="IDLE+DRAIN") == {Flag.DRAINING: "DRAIN"}
    assert flags(state=[]) == {Flag.UNREACHABLE: "UNKNOWN"}


def test_no_state_has_two_meanings() -> None:
    assert not STATE_FLAGS.keys() & (QUIET | TOLD)
    assert not QUIET & TOLD


def test_what_decides_nothing_is_kept_as_evidence_and_a_new_word_is_told() -> None:
    inventory = read_slurm([slurm_node("n1", "IDLE", "RESERVED", "FROZEN", reason="was hot")], ROW)
    assert inventory.nodes[0].evidence == ("FROZEN", "RESERVED", "reason: was hot")
    assert "FROZEN: this state of 1 nodes is not known to this program, and decides nothing" in messages(inventory, fatal=False)


def test_work_coming_and_going_changes_nothing() -> None:
    cluster = Cluster()
    take_slurm(cluster, [slurm_node("n1", "IDLE")], ROW)
    for states in (("ALLOCATED",), ("MIXED", "PLANNED"), ("IDLE", "COMPLETING"), ("IDLE", "BLOCKED")):
        assert take_slurm(cluster, [slurm_node("n1", *states)], ROW) == []


@pytest.mark.parametrize(
    ("fields", "gpus", "product"),
    [
        ({"gres": "gpu:h100:4"}, 4, "h100"),
        ({"gres": "gpu:4"}, 4, ""),
        ({"gres": "gpu:gb200:4(S:0-1),nvme:1"}, 4, "gb200"),
        ({"gres": "nvme:2,gpu:a100:2(S:0,2),gpu:h100:6(S:3)"}, 8, "a100, h100"),
        ({"gres": "gpu:no_consume:2"}, 2, ""),
        ({"gres": "gpu"}, 1, ""),
        ({"gres": "", "tres": "cpu=2,gres/gpu=4,gres/gpu:h100=4"}, 4, ""),
        ({"gres": "(null)", "tres": "cpu=2,gres/gpu=8"}, 8, ""),
    ],
)
def test_gpus_are_counted_from_gres_else_from_tres(fields: dict[str, Any], gpus: int, product: str) -> None:
    (node,) = read_slurm([slurm_node("n1", **fields)], ROW).nodes
    assert (node.gpus, node.product) == (gpus, product)


def test_a_node_that_has_fewer_gpus_than_it_should_is_suspect() -> None:
    assert flags(gres_drained="gpu:gb200:1(IDX:2)") == {Flag.SUSPECT: "gres_drained has 1 of its 4 GPUs"}
    assert flags(gres="gpu:3", tres="gres/gpu=4") == {Flag.SUSPECT: "gres has 3 of its 4 GPUs"}
    inventory = read_slurm([slurm_node("n1", gres="gpu:3", tres="gres/gpu=4")], ROW)
    assert "document 1, node 1, n1: gres has 3 GPUs, tres has 4: 4 taken; make them agree" in messages(inventory, fatal=False)


def test_a_known_node_that_shows_no_gpu_any_more_stays_and_is_suspect() -> None:
    cluster = Cluster()
    take_slurm(cluster, [slurm_node("n1"), slurm_node("n2")], ROW)
    inventory = read_slurm([slurm_node("n1", gres=""), slurm_node("n2")], ROW, cluster.known)
    assert inventory.nodes[0].gpus == 4
    assert dict(inventory.nodes[0].flags) == {Flag.SUSPECT: "reports none of its 4 GPUs"}


def test_nodes_without_gpus_and_nodes_to_come_are_left_out_and_counted() -> None:
    inventory = read_slurm([slurm_node("n1"), slurm_node("cpu1", gres=""), slurm_node("n2", "FUTURE")], ROW)
    assert [node.name for node in inventory.nodes] == ["n1"]
    told = messages(inventory, fatal=False)
    assert "1 node without GPUs left out: cpu1" in told
    assert "1 node of the configuration only (FUTURE) left out: n2" in told
    nothing = read_slurm([slurm_node("cpu1", gres="")])
    assert messages(nothing, fatal=True) == ["none of the 1 nodes has a GPU in gres or tres; give the GPU nodes"]


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (7, "document 1, node 2: this is the number 7; give a node with name, state and gres"),
        ({"name": "a b"}, "document 1, node 2: name is the text 'a b'; give letters, digits"),
        ({"gres": "gpu:1"}, "document 1, node 2: name is missing; give letters"),
        (slurm_node("n2", state=7), 'document 1, node 2, n2: state is the number 7; give a list of states, like ["IDLE", "DRAIN"]'),
        (slurm_node("n2", state=["IDLE", 7]), "document 1, node 2, n2: state is a list; give a list of states"),
        (slurm_node("n2", gres="gpu:h100:four"), "document 1, node 2, n2: gres is 'gpu:h100:four'; give gpu:COUNT or gpu:TYPE:COUNT"),
        (slurm_node("n2", gres="gpu:999"), "document 1, node 2, n2: it has 999 GPUs; give at most 256"),
        (slurm_node("n2", gres=["gpu:4"]), "document 1, node 2, n2: gres is a list; give text"),
        (slurm_node("n1", "DOWN"), "document 1, node 2, n1: this node is given with other content at document 1, node 1"),
    ],
)
def test_a_bad_node_refuses_the_file_by_its_position(item: object, told: str) -> None:
    found = messages(read_slurm([slurm_node("n1"), item], ROW), fatal=True)
    assert [message for message in found if message.startswith(told)], found


def test_an_answer_with_errors_is_incomplete_and_refused() -> None:
    content = slurm_answer([slurm_node("n1")], errors=[{"description": "Unable to contact slurm controller", "error_number": 1}])
    assert messages(read(content), fatal=True) == [
        "document 1: Slurm answered with an error (Unable to contact slurm controller); ask again until there is none"
    ]


def test_several_answers_are_one_inventory() -> None:
    content = slurm_answer([slurm_node("n1", gres="gpu:h100:8")]) + b"\n" + slurm_answer([slurm_node("n2", gres="gpu:h100:8")])
    assert [node.name for node in read(content).nodes] == ["n1", "n2"]
    mixed = slurm_answer([slurm_node("n1")]) + b"\n" + json.dumps({"kind": "Node"}).encode()
    assert messages(read(mixed), fatal=True) == ["document 2: this is the text 'a mapping'; give a node with name, state and gres"]


@pytest.mark.parametrize(
    ("file", "nodes", "flags"),
    [
        ("nodes", {"gpu1": "gpu1", "gpu2": "gpu2", "gpu3": None, "gpu4": None}, {}),
        ("node-planned", {"gpu2": "gpu2"}, {}),
        ("node-with-gpus-model-allocated", {"gpu1": "gpu1"}, {}),
    ],
)
def test_answers_of_slurmrestd_are_read(file: str, nodes: dict[str, str | None], flags: dict[str, object]) -> None:
    inventory = read(shared_path("data", "formats", "slurm", f"slurmrestd-0.0.44-slurm-{file}.json").read_bytes())
    assert messages(inventory, fatal=True) == []
    assert {node.name: node.domain for node in inventory.nodes} == nodes
    assert {node.name: node.flags for node in inventory.nodes if node.flags} == flags


@pytest.mark.parametrize(
    ("file", "condition"), [("down", "failed"), ("drain", "draining"), ("draining", "draining"), ("with-gpus-model-allocated", "healthy")]
)
def test_answers_of_slurmrestd_about_one_node_tell_its_condition(file: str, condition: str) -> None:
    answer = json.loads(shared_path("data", "formats", "slurm", f"slurmrestd-0.0.44-slurm-node-{file}.json").read_text())
    (item,) = answer["nodes"]
    cluster = Cluster()
    cluster.take(json.dumps(answer | {"nodes": [item | {"gres": "gpu:h100:8"}]}).encode())
    assert cluster.state.nodes[item["name"]].condition == condition
