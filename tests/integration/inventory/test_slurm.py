"""Slurm nodes with a topology file, by command and into the log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import CommandError

from clusters.eventlog.live import live
from clusters.eventlog.store import default_log
from clusters.inventory.model import BadInventory
from clusters.inventory.service import ImportReport, inventory_import
from tests.domain.inventory.slurm_files import TWO_RACKS, racks_of, slurm_answer, slurm_node
from tests.integration.inventory.test_commands import report, run
from tests.support.shared import shared_path

pytestmark = pytest.mark.django_db

NODES = [*racks_of(["a1", "a2", "a3", "b1", "b2"]), slurm_node("b3", "DOWN", "DRAIN", reason="fan")]


def take(topology: str | None, *, dry_run: bool = False) -> ImportReport:
    return inventory_import(
        cluster="c1",
        content=slurm_answer(NODES),
        filename="nodes.json",
        by="ada",
        topology=topology.encode() if topology else None,
        create=True,
        dry_run=dry_run,
    )


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    path = tmp_path / "nodes.json"
    path.write_bytes(slurm_answer(NODES))
    return path


def test_the_command_takes_the_topology_file_or_slurms_directory(nodes: Path, tmp_path: Path) -> None:
    slurm = tmp_path / "slurm"
    slurm.mkdir()
    with pytest.raises(CommandError, match=r"has no topology.yaml or topology.conf"):
        run("import_cluster", str(nodes), str(slurm), "--name", "c1")
    (slurm / "topology.conf").write_text("BlockName=wrong Nodes=a[1-3],b[1-3]\n")
    (slurm / "topology.yaml").write_text(
        json.dumps(
            [{"topology": "x", "block": {"block_sizes": [3], "blocks": [{"block": f"r-{row}", "nodes": f"{row}[1-3]"} for row in "ab"]}}]
        )
    )
    first = report(str(nodes), str(slurm), "--name", "c1")
    assert (first["racks"], first["nodes"], first["problems"]) == (2, 6, [])
    assert first["states"] == {"failed": 1, "healthy": 5}
    assert set(live("c1").catch_up().racks) == {"r-a", "r-b"}
    assert report(str(nodes), str(slurm), "--name", "c1")["events"] == 0
    assert report(str(nodes), str(slurm / "topology.yaml"), "--name", "c1")["events"] == 0
    assert report(str(nodes), "--name", "c1")["events"] == 0


def test_without_a_topology_the_command_names_the_problem(nodes: Path) -> None:
    assert "a[1-3], b[1-3]: 6 nodes: NVLink domain unknown, so never part of a slice" in run("import_cluster", str(nodes), "--name", "c1")
    assert {node.domain for node in live("c1").catch_up().nodes.values()} == {None}


def test_wrong_topology_files_are_told_and_change_nothing(nodes: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="TOPOLOGY_FILE: 'no-such-file' cannot be read"):
        run("import_cluster", str(nodes), "no-such-file", "--name", "c1")
    with pytest.raises(BadInventory, match="topology file, line 1"):
        take("BlockName=r1 Nodes=a[1-\n")
    with pytest.raises(CommandError, match="topology file: there is no topology in it"):
        run("import_cluster", str(nodes), str(nodes), "--name", "c1")
    assert default_log().clusters() == ()


def test_the_topology_is_part_of_what_an_import_is_known_by() -> None:
    assert take(None).events > 0
    changed = take(TWO_RACKS)
    assert changed.events == 2 + 6
    again = take(TWO_RACKS.replace("r2", "r3"))
    assert again.events == 1 + 3


def test_a_dry_run_tells_its_facts_and_what_they_lead_to() -> None:
    dry = take(TWO_RACKS, dry_run=True)
    assert default_log().clusters() == ()
    assert dry.events == len(dry.facts)
    assert dry.after is not None
    assert {node.rack for node in dry.after.nodes.values()} == {"r1", "r2"}
    done = take(TWO_RACKS)
    assert (done, done.after) == (dry, None)


def test_the_answers_of_slurmrestd_come_in() -> None:
    path = shared_path("data", "formats", "slurm", "slurmrestd-0.0.44-slurm-nodes.json")
    first = report(str(path), "--name", "hpc")
    assert (first["nodes"], first["states"]) == (4, {"healthy": 4})
    told = [problem["message"] for problem in first["problems"]]
    assert told[0] == "4 nodes without GPUs left out: cn1, cn2, cn3, cn4"
    assert told[1].startswith("2 nodes: NVLink domain unknown")
    assert report(str(path), "--name", "hpc")["events"] == 0
