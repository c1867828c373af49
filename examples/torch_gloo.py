"""The training of data_parallel.py with PyTorch: processes that stay while the process group around them is destroyed and formed again.

Each node runs `torchrun --standalone --nproc-per-node 1 examples/torch_gloo.py` with the environment that `slicekeeper_worker` reads. On
GPUs the group would be one of NCCL. When a peer is lost, gloo's collectives fail on all the others; they take the next assignment, meet
again at the new rank 0, and broadcast parameters and step from whoever is furthest. Workers whose slice has moved leave a checkpoint
behind, from which the new place goes on.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

try:
    import torch
    import torch.distributed as dist
except ImportError:
    sys.exit("this example needs PyTorch: pip install torch")

from slicekeeper_worker import JobOver, NotPlaced, Worker, join

INPUTS, HIDDEN, BATCH = 8, 16, 128
RATE = 0.1
STEP_SECONDS = 0.1
CHECKPOINT_STEPS = 20

#: Seconds that the others may take to meet, or to take part in a step.
PATIENCE = timedelta(seconds=20)
#: The port of rank 0; each generation has another.
PORT, PORTS = 29_500, 400
#: Seconds that a worker whose slice has moved stays, so that what it has written is complete.
NEWS = 2.0


@dataclass(slots=True)
class Training:
    """What a worker has in memory."""

    directory: Path
    node: str
    model: Any = None
    step: int = -1  # finished; -1: it has no state yet
    loss: float = float("nan")
    told: list[int] = field(default_factory=list)  # to end

    def note(self, worker: Worker, what: str) -> None:
        """A line for whoever watches."""
        line = {
            "at": time.time(), "pid": os.getpid(), "node": self.node, "rank": worker.rank, "generation": worker.generation,
            "what": what, "step": self.step, "loss": None if self.loss != self.loss else self.loss,
        }  # fmt: skip
        with (self.directory / f"{self.node}.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")

    @property
    def checkpoint(self) -> Path:
        """The file of checkpoints."""
        return self.directory / "checkpoint.pt"

    def save(self) -> None:
        """The file is either the old one or the new one, whatever happens, and whoever else writes it."""
        draft = self.checkpoint.with_suffix(f".{self.node}")
        torch.save({"step": self.step, "model": self.model.state_dict()}, draft)
        draft.replace(self.checkpoint)

    def restore(self) -> None:
        """The last checkpoint, or the beginning."""
        self.step = 0
        with suppress(OSError, KeyError):
            saved = torch.load(self.checkpoint)
            self.step = saved["step"]
            self.model.load_state_dict(saved["model"])


def main() -> None:
    """Until the job is over, or this node has no part in it any more."""
    torch.set_num_threads(1)
    worker = join()
    training = Training(Path(os.environ["EXAMPLE_DIRECTORY"]), worker.node, first_model())
    signal.signal(signal.SIGTERM, lambda number, _: training.told.append(number))
    try:
        while not training.told:
            try:
                group = meet(worker)
                agree(worker, group, training)
                training.note(worker, "joined")
                work(worker, group, training)
            except RuntimeError:  # what torch.distributed raises when a peer is gone, or does not come
                if training.step >= 0:
                    training.note(worker, "paused")
            group = None  # hang up
            next_assignment(worker, training)
    except NotPlaced:
        training.save()
    except JobOver:
        return


def first_model() -> Any:
    """Where training begins, the same everywhere."""
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(INPUTS, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, 1))


def meet(worker: Worker) -> Any:
    """The process group of the assignment in use; raises RuntimeError, NotPlaced, JobOver.

    A group of its own, not the one that `init_process_group` makes: that can be made only once for each number of tries, so that a newcomer
    would never meet those who have tried before.
    """
    rank, assignment = worker.rank, worker.assignment
    if not assignment.complete:
        raise RuntimeError("a node is missing")
    host = os.environ.get("SLICEKEEPER_MASTER_ADDR") or assignment.node_of(0)
    port = PORT + assignment.generation % PORTS
    store = dist.TCPStore(host, port, worker.world, is_master=rank == 0, timeout=PATIENCE, wait_for_workers=True)
    return dist.ProcessGroupGloo(store, rank, worker.world, PATIENCE)


def agree(worker: Worker, group: Any, training: Training) -> None:
    """Everybody gets parameters and step of whoever is furthest; where nobody has any, of the last checkpoint."""
    steps = [torch.zeros(1, dtype=torch.int64) for _ in range(worker.world)]
    group.allgather([steps], [torch.tensor([training.step])]).wait()
    furthest = max(range(worker.world), key=lambda rank: (int(steps[rank]), -rank))
    if int(steps[furthest]) < 0 and worker.rank == furthest:
        training.restore()
    at = torch.tensor([training.step])
    group.broadcast(at, furthest).wait()
    for parameter in training.model.parameters():
        group.broadcast(parameter.data, furthest).wait()
    training.step = int(at)


def work(worker: Worker, group: Any, training: Training) -> None:
    """Steps, until somebody says to stop; raises RuntimeError when a peer is lost."""
    draw = torch.Generator().manual_seed(worker.rank)
    inputs = torch.randn(BATCH, INPUTS, generator=draw)
    wanted = (torch.sin(inputs.sum(dim=1)) + 0.5 * inputs[:, 0]).unsqueeze(1)
    while not training.told and not worker.changed:
        error = torch.nn.functional.mse_loss(training.model(inputs), wanted)
        training.model.zero_grad()
        error.backward()
        total = torch.cat([parameter.grad.flatten() for parameter in training.model.parameters()] + [error.detach().reshape(1)])
        group.allreduce([total]).wait()
        total /= worker.world
        taken = 0
        with torch.no_grad():
            for parameter in training.model.parameters():
                parameter -= RATE * total[taken : taken + parameter.numel()].view_as(parameter)
                taken += parameter.numel()
        training.loss, training.step = float(total[-1]), training.step + 1
        training.note(worker, "step")
        if worker.rank == 0 and training.step % CHECKPOINT_STEPS == 0:
            training.save()
            worker.report_checkpoint(training.step)
        time.sleep(STEP_SECONDS)


def next_assignment(worker: Worker, training: Training) -> None:
    """Wait a moment for news: a group that broke without any is formed again. Raises NotPlaced, JobOver."""
    ends = time.monotonic() + NEWS
    while not training.told and not worker.changed and time.monotonic() < ends:
        worker.wait(0.1)
    worker.take()
    _ = worker.place


if __name__ == "__main__":
    main()
