"""A small training on many nodes, which goes on when nodes are replaced under it.

Every worker has the whole model and a shard of the data of its own. A step sums the gradients of all, so that all models stay the same to
the last bit. When somebody is lost, the others pause at the step they have finished, wait for the next assignment, bring whoever is new to
their own state, and go on: same processes, same memory, and no step counted backwards.

Run it on each node of a job: `python examples/data_parallel.py` with the environment that `slicekeeper_worker` reads, and
EXAMPLE_DIRECTORY, where each worker writes its steps as lines of JSON and rank 0 its checkpoints.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

try:
    import numpy as np
except ImportError:
    sys.exit("this example needs numpy: pip install numpy")

from slicekeeper_worker import Group, JobOver, NotPlaced, PeerLost, Places, State, Worker, donate, join

INPUTS, HIDDEN, BATCH = 8, 16, 128
WEIGHTS = HIDDEN * INPUTS + HIDDEN + HIDDEN + 1
RATE = 0.1

#: Seconds of each step beside its arithmetic: what a larger model would take.
STEP_SECONDS = 0.1
#: Steps between two checkpoints.
CHECKPOINT_STEPS = 20
#: Seconds that a group may take to form, and that a worker without a slot waits to hand its state over: 30 s after it was told to stop
#: it is killed.
FORM_SECONDS = 30.0
DONATE_SECONDS = 27.0

Vector = np.ndarray[Any, np.dtype[np.float64]]


def first_weights() -> Vector:
    """Where training begins."""
    return np.random.default_rng(1).normal(0, 0.3, WEIGHTS)


def shard(rank: int) -> tuple[Vector, Vector]:
    """The data of one rank: made up, and the same whoever has the rank."""
    inputs = np.random.default_rng(rank).normal(0, 1, (BATCH, INPUTS))
    return inputs, np.sin(inputs.sum(axis=1)) + 0.5 * inputs[:, 0]


def gradient(weights: Vector, inputs: Vector, wanted: Vector) -> tuple[Vector, float]:
    """The gradient of the mean squared error of a network with one hidden layer, and the error."""
    cut = np.cumsum([HIDDEN * INPUTS, HIDDEN, HIDDEN])
    first, bias, second, last = np.split(weights, cut)
    hidden = np.tanh(inputs @ first.reshape(HIDDEN, INPUTS).T + bias)
    error = hidden @ second + last - wanted
    back = np.outer(error, second) * (1 - hidden**2)
    parts = ((back.T @ inputs).ravel(), back.sum(axis=0), hidden.T @ error, np.array([error.sum()]))
    return np.concatenate(parts) * 2 / len(wanted), float((error**2).mean())


@dataclass(slots=True)
class Training:
    """What a worker has in memory."""

    directory: Path
    node: str
    step: int = -1  # finished; -1: it has no state yet
    weights: Vector = field(default_factory=first_weights)
    loss: float = float("nan")
    stop: bool = False  # told to end

    @property
    def state(self) -> State | None:
        """To give to others."""
        return None if self.step < 0 else State(self.step, self.weights.tobytes())

    def take(self, state: State) -> None:
        """Go on from a state."""
        self.step, self.weights = state.step, np.frombuffer(state.block, dtype=np.float64).copy()

    def restore(self) -> State:
        """Where to begin if nobody has anything in memory: the last checkpoint, or the beginning."""
        with suppress(OSError, ValueError, KeyError), np.load(self.checkpoint) as saved:
            return State(int(saved["step"]), saved["weights"].tobytes())
        return State(0, first_weights().tobytes())

    @property
    def checkpoint(self) -> Path:
        """The file of checkpoints."""
        return self.directory / "checkpoint.npz"

    def save(self) -> None:
        """Write a checkpoint: the file is either the old one or the new one, whatever happens."""
        draft = self.checkpoint.with_suffix(".draft.npz")
        np.savez(draft, step=self.step, weights=self.weights)
        draft.replace(self.checkpoint)

    def note(self, worker: Worker, what: str) -> None:
        """A line for whoever watches."""
        line = {
            "at": time.time(), "pid": os.getpid(), "node": self.node, "rank": worker.rank, "generation": worker.generation,
            "what": what, "step": self.step, "loss": None if np.isnan(self.loss) else self.loss,
        }  # fmt: skip
        with (self.directory / f"{self.node}.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")


def main() -> None:
    """Until the job is over, or this node has no part in it any more."""
    directory = os.environ.get("EXAMPLE_DIRECTORY")
    if not directory:
        sys.exit("set EXAMPLE_DIRECTORY to a directory that all workers can write to: steps and checkpoints are kept there")
    worker = join()
    training = Training(directory=Path(directory), node=worker.node)
    signal.signal(signal.SIGTERM, lambda *_: setattr(training, "stop", True))
    places = Places(worker.job)
    try:
        while not training.stop:
            try:
                group, state = Group.form(worker, places, training.state, training.restore, FORM_SECONDS)
            except PeerLost:
                next_assignment(worker, training)
                continue
            training.take(state)
            training.note(worker, "joined")
            work(worker, group, training)
    except NotPlaced:
        pass
    except JobOver:
        return
    leave(worker, places, training)


def work(worker: Worker, group: Group, training: Training) -> None:
    """Steps, until the group breaks or somebody says to stop."""
    inputs, wanted = shard(worker.rank)
    try:
        while not training.stop and not worker.changed:
            slope, error = gradient(training.weights, inputs, wanted)
            total = np.frombuffer(group.sum(np.append(slope, error).tobytes()), dtype=np.float64) / worker.world
            training.weights -= RATE * total[:-1]
            training.loss = float(total[-1])
            training.step += 1
            training.note(worker, "step")
            if worker.rank == 0 and training.step % CHECKPOINT_STEPS == 0:
                save(worker, training)
            time.sleep(STEP_SECONDS)
    except PeerLost:
        training.note(worker, "paused")
    finally:
        group.close()
    next_assignment(worker, training)


def save(worker: Worker, training: Training) -> None:
    """A checkpoint that counts."""
    training.save()
    worker.report_checkpoint(training.step)


def next_assignment(worker: Worker, training: Training) -> None:
    """Wait a moment for news: a group that broke without any is formed again as it was. Raises NotPlaced, JobOver."""
    deadline = time.monotonic() + 2.0
    while not training.stop and not worker.changed and time.monotonic() < deadline:
        worker.wait(0.1)
    worker.take()
    _ = worker.place


def leave(worker: Worker, places: Places, training: Training) -> None:
    """Told to stop, or without a slot: if the work goes on elsewhere, hand the state over first."""
    if worker.assignment.place_of(worker.node) is not None:  # told to stop before it has heard why
        worker.wait(2.0)
    assignment = worker.take()
    if training.state is not None and not assignment.over and assignment.complete and assignment.place_of(worker.node) is None:
        donate(worker, places, training.state, DONATE_SECONDS)
    worker.leave()


if __name__ == "__main__":
    main()
