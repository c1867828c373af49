"""Shows in-place recovery on this machine: 2 racks of 18 local nodes, a training on 16 of them, and processes that are killed under it.

First one worker is killed: a spare of the rack takes its place, and takes its state from the others, which stay as they are. Then three
more at once, which is more than the rack has spares: the slice moves to the other rack, and takes its state along from the workers that it
leaves behind. Everything shown is seen from outside: process ids, the step counters that workers write down, and the log of the control
plane.

Ends with code 1 if anything is not as it should be. `make demo-recovery` runs it; with EXAMPLE=torch, a smaller one under torchrun.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from demo_stage import CLUSTER, SCENES, Demo, Failed, Seen, free_port

from slicekeeper_worker import ApiError, Unreachable

#: Steps that every worker must do before something is killed, and after.
STEPS = 15


@dataclass(frozen=True, slots=True)
class Kill:
    """When something was killed."""

    head: int  # position of the log
    at: float
    step: int  # of those who live on


# ---- the two acts


def swap(demo: Demo) -> None:
    """One worker is killed."""
    before = demo.all_beyond(STEPS)
    show(f"{len(before)} workers on one slice", before)
    rank = demo.scene.first
    killed = before[rank]
    kill = end(demo, [killed])
    after = demo.all_beyond(kill.step + STEPS)
    show("after the swap", after)
    kept = placed(worker for worker in before if worker.rank != rank)
    check(kept == placed(worker for worker in after if worker.rank != rank), f"{len(kept)} workers keep node and process")
    check(after[rank].node != killed.node, f"{after[rank].node} has taken the place of {killed.node}")
    steady(after)
    taken_over(demo, killed, [after[rank]])
    times(demo, kill, "NodeSwapped", [worker for worker in after if worker.rank != rank])


def placed(workers: Iterable[Seen]) -> list[tuple[int, str, int]]:
    """Which process has which rank, and where."""
    return [(worker.rank, worker.node, worker.pid) for worker in workers]


def move(demo: Demo) -> None:
    """Three are killed at once."""
    before = demo.workers()
    kill = end(demo, [before[rank] for rank in demo.scene.then])
    after = demo.all_beyond(kill.step + STEPS)
    show("after the move", after)
    racks = {worker.node.split("-")[0] for worker in after}
    check(len(racks) == 1 and racks.isdisjoint(worker.node.split("-")[0] for worker in before), f"the slice runs in {', '.join(racks)}")
    steady(after)
    furthest = max(before, key=lambda worker: max(line["step"] for line in demo.lines(worker.node)))
    taken_over(demo, furthest, after)
    times(demo, kill, "SliceMoved", after)


def end(demo: Demo, workers: Sequence[Seen]) -> Kill:
    """Kill workers, all at once."""
    kill = Kill(demo.head(), time.time(), demo.workers()[1].step)
    for worker in workers:
        os.kill(worker.pid, signal.SIGKILL)
    for worker in workers:
        print(f"\nkill -9 {worker.pid}: the worker of rank {worker.rank} on {worker.node}, at step {kill.step}", end="")
    print()
    return kill


def taken_over(demo: Demo, former: Seen, new: Sequence[Seen]) -> None:
    """The new workers began where a former one had ended, or one step before."""
    done = max(line["step"] for line in demo.lines(former.node) if line["pid"] == former.pid)
    began = {worker.lines[0]["step"] for worker in new}
    lost = max(0, done - max(began))
    check(len(began) == 1 and lost <= 1, f"new workers began at step {max(began)}, {former.node} had finished {done}: {lost} steps lost")


def steady(workers: Sequence[Seen]) -> None:
    """No counter ever goes back, and all losses are numbers."""
    steps = [[line["step"] for line in worker.lines] for worker in workers]
    check(all(counted == sorted(counted) for counted in steps), "no step counter has gone back")
    check(all(math.isfinite(worker.loss) for worker in workers), f"the loss goes on: {workers[0].loss:.4f}")
    check(len({round(worker.loss, 12) for worker in workers if worker.step == workers[0].step}) == 1, "all models are the same")


def times(demo: Demo, kill: Kill, kind: str, workers: Sequence[Seen]) -> None:
    """How long each part took, from the kill."""
    events = demo.events(kill.head)
    failed = [event for event in events if event["kind"] == "NodeFailed"]
    decided = next(event for event in events if event["kind"] == kind)
    started = [event for event in events if event["kind"] == "WorkStarted"]
    resumed = max(next(line["at"] for line in worker.lines if line["step"] > kill.step + 1) for worker in workers)
    rows = (
        ("detected", min(event["recorded_at_us"] for event in failed) / 1e6),
        ("decided", decided["recorded_at_us"] / 1e6),
        ("new processes started", max(event["recorded_at_us"] for event in started) / 1e6),
        ("all in step again", resumed),
    )
    print(f"\n  {kind}: seconds after the kill")
    for name, when in rows:
        print(f"  {name:<22} {when - kill.at:6.2f}")


def verify(demo: Demo) -> None:
    """What the books say, and whether every decision comes out the same again."""
    for lost in demo.api.get(f"jobs/{demo.job}/")["lost_work"]:
        print(f"  booked: {lost['cause']}, {lost['rollback_gpu_s']} GPU-s to be done again, {lost['stall_gpu_s']} GPU-s stood still")
    demo.manage("replay", "--cluster", CLUSTER, "--verify")
    check(True, "every decision of the log comes out the same again")


def show(title: str, workers: Sequence[Seen]) -> None:
    """Everybody in a table."""
    print(f"\n{title}\n  {'rank':>4}  {'node':<10} {'pid':>7} {'step':>5} {'loss':>8}")
    for worker in workers:
        print(f"  {worker.rank:>4}  {worker.node:<10} {worker.pid:>7} {worker.step:>5} {worker.loss:>8.4f}")


def check(holds: bool, what: str) -> None:
    """Say it, or fail."""
    print(f"  {'yes' if holds else 'NO '}  {what}")
    if not holds:
        raise Failed(what)


def main() -> int:
    """Returns the code to end with."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and end what was started
    began = time.monotonic()
    name, python = os.environ.get("EXAMPLE") or "numpy", os.environ.get("EXAMPLE_PYTHON") or sys.executable
    if name not in SCENES:
        print(f"EXAMPLE={name}: give one of {', '.join(SCENES)}")
        return 2
    if subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False).returncode:
        print(f"demo-recovery: skipped: {python} has no {name}; EXAMPLE_PYTHON may name one that has")
        return 0
    scene = SCENES[name]
    with tempfile.TemporaryDirectory(prefix="recovery-") as directory:
        demo = Demo(Path(directory), int(os.environ.get("DEMO_PORT") or free_port()), scene, python)
        try:
            print(f"starting the control plane, {2 * scene.per_rack} local nodes in 2 racks, and a training on {scene.nodes} of them")
            demo.start()
            demo.submit()
            swap(demo)
            move(demo)
            verify(demo)
            print(f"\ndemo-recovery: one swap and one move, {time.monotonic() - began:.0f} s")
        except (Failed, ApiError, Unreachable) as error:
            print(f"\ndemo-recovery: failed: {error}")
            demo.show_logs()
            return 1
        finally:
            demo.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
