"""What launchers read, by their own rules."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from clusters.domain.commands import NodeVerb
from clusters.domain.constraints import ParallelPlan
from clusters.domain.inventory_events import NodeRegistered, RackRegistered
from clusters.domain.jobs import JobRequest
from clusters.inventory.names import expand
from scheduling.launch.assignment import Launch, launch_now
from scheduling.launch.formats import Format, content_type, filename, incomplete, written
from tests.support.world import World, ask, racks

PLAN = ParallelPlan(tp=8, ep=8, dp=2)


def launched(request: JobRequest, world: World | None = None) -> Launch:
    world = world or World(racks(3))
    launch = launch_now(world.state, world.run(request))
    assert isinstance(launch, Launch)
    return launch


@pytest.fixture(scope="module")
def launch() -> Launch:
    return launched(ask(32, plan=PLAN))


def lines(launch: Launch, form: Format) -> list[str]:
    return [line for line in written(launch, form).splitlines() if not line.startswith("#")]


def node_of(launch: Launch, rank: int) -> str:
    found = launch.ranks.ranks[rank].node
    assert found is not None
    return found


def test_the_hostfile_gives_slots_in_rank_order(launch: Launch) -> None:
    """By the pattern that DeepSpeed reads lines with; Open MPI's is the same."""
    ranks = []
    for line in lines(launch, Format.HOSTFILE):
        match = re.fullmatch(r"(\S+)\s+slots=(\d+)", line)
        assert match
        ranks += [match[1]] * int(match[2])
    assert ranks == [rank.node for rank in launch.ranks.ranks]


def test_the_rank_map_has_every_coordinate(launch: Launch) -> None:
    read = json.loads(written(launch, Format.RANKS))
    assert (read["job"], read["generation"], read["order"], read["problem"]) == (launch.job, 1, "tp-ep-pp-dp", "")
    assert read["plan"] == {"tp": 8, "ep": 8, "pp": 1, "dp": 2, "gpus": 128, "group": 64}
    assert read["ranks"][77] == {
        "rank": 77, "node": node_of(launch, 77), "gpu": 1, "slice": 1, "slot": 3, "domain": "r2", "tp": 5, "ep": 1, "pp": 0, "dp": 1,
    }  # fmt: skip


def test_the_slurm_files_name_each_task_once(launch: Launch) -> None:
    hosts = lines(launch, Format.SLURM_HOSTFILE)
    assert hosts == [rank.node for rank in launch.ranks.ranks]
    script = written(launch, Format.SLURM)
    assert script.partition("<<'NODES'\n")[2].partition("\nNODES\n")[0].splitlines() == hosts
    assert "#SBATCH --nodelist=r1-n[1-9],r1-n[10-16],r2-n[1-9],r2-n[10-16]\n" in script
    assert 'srun --distribution=arbitrary --ntasks=128 "$@"' in script
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_the_node_list_is_short_and_complete(launch: Launch) -> None:
    (text,) = lines(launch, Format.NODELIST)
    parts = re.findall(r"[^,\[]+(?:\[[^\]]*\])?", text)
    assert sorted(name for part in parts for name in expand(part)) == sorted({node_of(launch, rank) for rank in range(128)})


def test_padded_names_fold_as_slurm_writes_them() -> None:
    world = World([])
    world.add(RackRegistered(rack="r1", block="b1"))
    world.add(*(NodeRegistered(node=f"r1-n{number:02d}", rack="r1", domain="r1", gpus=4) for number in range(1, 19)))
    assert lines(launched(ask(16), world), Format.NODELIST) == ["r1-n[01-16]"]


def test_the_rankfile_gives_each_rank_cores_of_its_own(launch: Launch) -> None:
    seen: set[tuple[str, int]] = set()
    for number, line in enumerate(lines(launch, Format.RANKFILE)):
        match = re.fullmatch(r"rank (\d+)=(\S+) slot=(\d+)-(\d+)", line)
        assert match
        assert (int(match[1]), match[2]) == (number, node_of(launch, number))
        cores = {(match[2], core) for core in range(int(match[3]), int(match[4]) + 1)}
        assert not cores & seen
        seen |= cores
    assert len(seen) == 32 * 144


def sourced(text: str, node: str, tmp_path: Path) -> dict[str, str]:
    """The environment that a shell on the node has after sourcing the file."""
    file = tmp_path / "torchrun.sh"
    file.write_text(text, encoding="utf-8")
    command = ["bash", "-c", f". {file} && env"]
    done = subprocess.run(command, env={"SLICEKEEPER_NODE": node, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def test_each_node_gets_its_rank_from_the_environment(launch: Launch, tmp_path: Path) -> None:
    text = written(launch, Format.TORCHRUN)
    for rank in (0, 64, 127):
        node = node_of(launch, rank)
        for name in (node, f"{node}.example.org"):
            found = sourced(text, name, tmp_path)
            assert found["NODE_RANK"] == str(rank // 4)
            assert (found["NNODES"], found["NPROC_PER_NODE"], found["MASTER_ADDR"]) == ("32", "4", node_of(launch, 0))
            assert found["MASTER_PORT"] == "29500"
    assert sourced(text, "r3-n1", tmp_path) == {}


def test_it_says_whether_c10d_would_keep_the_order(launch: Launch) -> None:
    """r1-n10 sorts before r1-n2."""
    assert "which here is NOT the rank order" in written(launch, Format.TORCHRUN)
    assert "which here is the rank order" in written(launched(ask(9)), Format.TORCHRUN)


def test_work_below_a_node_names_its_devices_and_a_port_of_its_own(tmp_path: Path) -> None:
    world = World(racks(1))
    first, second = launched(ask(gpus=2), world), launched(ask(gpus=2), world)
    node = node_of(second, 0)
    assert node == node_of(first, 0)
    for launch, devices, port in ((first, "0,1", "29500"), (second, "2,3", "29502")):
        found = sourced(written(launch, Format.TORCHRUN), node, tmp_path)
        assert (found["CUDA_VISIBLE_DEVICES"], found["MASTER_PORT"]) == (devices, port)
        assert f"CUDA_VISIBLE_DEVICES={devices}" in written(launch, Format.HOSTFILE)
    assert [line.partition(" slot=")[2] for line in lines(second, Format.RANKFILE)] == ["72-107", "108-143"]


def test_a_plan_that_does_not_hold_is_told_in_the_title() -> None:
    world = World(racks(3))
    job = world.run(ask(32))
    object.__setattr__(job.request, "plan", ParallelPlan(tp=128))
    launch = launch_now(world.state, job)
    assert isinstance(launch, Launch)
    for form in (Format.HOSTFILE, Format.TORCHRUN, Format.SLURM, Format.RANKFILE):
        assert "# Beware: 1 of 1 TP x EP groups leave their domain" in written(launch, form)


def test_a_lost_node_leaves_only_the_rank_map() -> None:
    world = World(racks(1))
    job = world.run(ask(16))
    for _ in range(3):
        failed = job.slices[0].nodes[0]
        assert failed is not None
        world.mark(failed, NodeVerb.FAIL)
        world.settle()
    launch = launch_now(world.state, job)
    assert isinstance(launch, Launch)
    for form in Format:
        refusal = incomplete(launch, form)
        assert (refusal is None) is (form is Format.RANKS)
        assert refusal is None or "1 slot has no node" in refusal.message
    assert json.loads(written(launch, Format.RANKS))["ranks"][0]["node"] is None


@pytest.mark.parametrize("form", list(Format))
def test_files_are_named_by_job_and_generation(launch: Launch, form: Format) -> None:
    assert filename(launch, form).startswith(f"{launch.job}.1.")
    assert content_type(form).startswith("application/json" if form is Format.RANKS else "text/plain")
    assert written(launch, form).endswith("\n")
