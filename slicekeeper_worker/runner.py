"""Runs one program on a node for as long as the node has a slot of the job, and starts it anew with each assignment.

For launchers that know nothing of assignments, such as torchrun: the program finds its rank in the environment, and goes on from its last
checkpoint. What it has in memory is lost with each change, on every node; programs that use `slicekeeper_worker` themselves keep it.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence

from slicekeeper_worker.worker import JobOver, NotPlaced, Worker

#: Seconds between looks at the program.
LOOK = 0.1
#: Seconds after which a program that has ended badly has done so by itself.
NEWS = 10.0

#: The port that rank 0 is met at; each generation has another, so that nobody meets the one before.
MASTER_PORT = 29_500
PORTS = 400


def run(worker: Worker, program: Sequence[str], grace: float) -> int:
    """Returns the program's code once it has ended by itself, else 0 when the job is over or the node has no slot any more."""
    told: list[int] = []
    former = signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
    try:
        while not told:
            try:
                environment = environment_of(worker)
            except (JobOver, NotPlaced):
                return 0
            if not environment:
                worker.wait(1.0)
            elif (code := _once(worker, program, environment, grace, told)) is not None:
                return code
            worker.take()
        return 0
    finally:
        signal.signal(signal.SIGTERM, former)
        worker.leave()


def environment_of(worker: Worker) -> dict[str, str]:
    """What the program finds in its environment; nothing while the job lacks a node."""
    place, assignment = worker.place, worker.assignment
    if not assignment.complete:
        return {}
    return {
        "SLICEKEEPER_GENERATION": str(assignment.generation),
        "NNODES": str(assignment.world),
        "NODE_RANK": str(place.rank),
        "MASTER_ADDR": os.environ.get("SLICEKEEPER_MASTER_ADDR") or str(assignment.node_of(0)),
        "MASTER_PORT": str(MASTER_PORT + assignment.generation % PORTS),
    }


def _once(worker: Worker, program: Sequence[str], environment: dict[str, str], grace: float, told: list[int]) -> int | None:
    """Run the program under one assignment; its code, or None where it was stopped for the next."""
    process = subprocess.Popen(program, env={**os.environ, **environment}, start_new_session=True)
    try:
        while not told and not worker.wait(LOOK):
            if process.poll() is not None:
                return _code(worker, process.returncode)
        return None
    finally:
        _stop(process, grace)


def _code(worker: Worker, code: int) -> int | None:
    """A program that ends badly has often lost a peer: if the next assignment comes in a moment, that was it."""
    return None if code and worker.wait(NEWS) else code


def _stop(process: subprocess.Popen[bytes], grace: float) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
