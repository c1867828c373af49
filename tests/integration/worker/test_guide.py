"""The training of the guide runs as it is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.worker.test_worker import Plane
from tests.support.shared import ROOT

SECONDS = 30.0

#: What the guide leaves to the reader: a state of one number, to which each step adds all ranks + 1.
READERS = """
import os
from array import array
from slicekeeper_worker import State

def last_checkpoint():
    return State(0, array("d", [0.0]).tobytes())

def gradient(rank, state):
    return array("d", [rank + 1.0]).tobytes()

def apply(state, total):
    return State(state.step + 1, array("d", [array("d", state.block)[0] + array("d", bytes(total))[0]]).tobytes())

def save(state):
    with open(os.environ["SAVED"], "a") as file:
        print(state.step, array("d", state.block)[0], file=file, flush=True)
"""


def training() -> str:
    """The guide's program."""
    text = (ROOT / "docs" / "guides" / "recovery.md").read_text()
    (found,) = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "Group.form" in block]
    return str(found)


@pytest.mark.slow
def test_the_training_of_the_guide_runs_and_goes_on_when_a_worker_is_replaced(tmp_path: Path) -> None:
    plane, saved = Plane(), tmp_path / "saved"
    shared = {"URL": plane.url, "TOKEN": "sk_good", "CLUSTER": "lab", "JOB": "j000001", "SOCKETS": str(tmp_path)}
    environment = {**os.environ, **{f"SLICEKEEPER_{name}": value for name, value in shared.items()}, "SAVED": str(saved)}

    def start(node: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", READERS + training()], cwd=ROOT, env={**environment, "SLICEKEEPER_NODE": node})

    workers = {node: start(node) for node in ("a", "b")}
    try:
        before = steps_beyond(saved, 0)
        workers["b"].kill()
        plane.change(generation=2, nodes=["a", "c"])
        workers["c"] = start("c")
        after = steps_beyond(saved, max(before) + 500)
        plane.change(over=True, state="finished")
        assert [workers[node].wait(SECONDS) for node in ("a", "c")] == [0, 0]
    finally:
        for process in workers.values():
            process.kill()
            process.wait()
        plane.change(over=True)
        plane.server.shutdown()
        plane.server.server_close()
    assert sorted(after) == list(range(100, max(after) + 1, 100)), "no step was done twice, and none was left out"
    assert all(total == 3.0 * step for step, total in after.items())


def steps_beyond(saved: Path, step: int) -> dict[int, float]:
    """Step -> what was saved of it, once one later than `step` is."""
    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends:
        lines = [line.split() for line in saved.read_text().splitlines()] if saved.exists() else []
        found = {int(line[0]): float(line[1]) for line in lines if len(line) == 2}
        if found and max(found) > step:
            return found
        time.sleep(0.05)
    raise AssertionError(f"nothing was saved after step {step}")


def test_the_library_travels_as_one_file(tmp_path: Path) -> None:
    archive = tmp_path / "slicekeeper-worker"
    subprocess.run([sys.executable, "scripts/worker_archive.py", str(archive)], cwd=ROOT, check=True)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(archive)}
    told = subprocess.run(
        [sys.executable, str(archive), "--help"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert "slicekeeper-worker" in told.stdout
    script = "import slicekeeper_worker; print(slicekeeper_worker.__file__)"
    place = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert place.stdout.startswith(str(archive))
