"""The example of a training: its arithmetic, its checkpoints, and, in the long form of the suite, the whole demonstration."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from examples.data_parallel import RATE, Training, first_weights, gradient, shard
from tests.support.shared import ROOT


def test_the_gradient_is_the_slope_of_the_error() -> None:
    weights, (inputs, wanted) = first_weights(), shard(3)
    slope, _ = gradient(weights, inputs, wanted)
    for place in range(0, len(weights), 7):
        step = np.zeros_like(weights)
        step[place] = 1e-6
        rise = gradient(weights + step, inputs, wanted)[1] - gradient(weights - step, inputs, wanted)[1]
        assert abs(rise / 2e-6 - slope[place]) < 1e-6


def test_training_gets_somewhere() -> None:
    weights, (inputs, wanted) = first_weights(), shard(0)
    first = gradient(weights, inputs, wanted)[1]
    for _ in range(200):
        weights = weights - RATE * gradient(weights, inputs, wanted)[0]
    assert gradient(weights, inputs, wanted)[1] < first / 2


def test_a_checkpoint_gives_back_what_was_saved_and_without_one_training_begins(tmp_path: Path) -> None:
    training = Training(directory=tmp_path, node="n1")
    assert training.restore().step == 0
    training.take(training.restore())
    training.weights += 1.0
    training.step = 50
    training.save()
    other = Training(directory=tmp_path, node="n2")
    other.take(other.restore())
    assert other.step == 50
    assert np.array_equal(other.weights, training.weights)
    training.checkpoint.write_bytes(b"torn")
    assert other.restore().step == 0


def test_without_its_directory_it_says_what_to_set() -> None:
    environ = {name: value for name, value in os.environ.items() if name != "EXAMPLE_DIRECTORY"}
    done = subprocess.run(
        [sys.executable, "examples/data_parallel.py"],
        cwd=ROOT,
        env={**environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.startswith("set EXAMPLE_DIRECTORY to a directory")) == (1, True)


@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("FAULTS") != "full", reason="half a minute of real processes: FAULTS=full")
def test_the_demonstration_of_recovery_is_green() -> None:
    done = subprocess.run([sys.executable, "scripts/demo_recovery.py"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-4000:]
