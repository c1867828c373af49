"""The local fleet: a connector whose nodes are processes of this machine.

A node is an agent process; the work of a job on it is a child of the agent. What happens to these processes is what is told:

- Work starts when its process does, and has stopped when its process has ended: with code 0 by itself on all nodes, the job has finished;
  with another code anywhere, it has failed, and is stopped everywhere else.
- Work that is killed by a signal nobody here has sent, or whose agent dies, takes its node with it: that node has failed, for certain.
- An agent that says nothing for a while is unreachable, until it speaks again.

A failed node comes back once somebody says that it is repaired. All processes end with whoever drives the fleet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clusters.connectors.base import Capabilities, NodeSight, Observation, Slot, Work
from clusters.connectors.local.checks import LocalChecks
from clusters.connectors.local.nodes import SILENT_SECONDS, NodeProcess, NodeProcesses
from clusters.connectors.local.program import Program
from clusters.connectors.local.work import LocalWork, key_of, read_key
from clusters.domain.events import NewEvent, Payload
from clusters.domain.health_events import NodeChecked, NodeFailed, NodeRecovered, NodeUnreachable
from clusters.domain.ids import SECOND, Duration, Instant
from clusters.domain.job_events import JobFailed, JobFinished, WorkStarted, WorkStopped

#: The source of all facts of a local fleet.
LOCAL_SOURCE = "local"

#: Seconds that work has to stop by itself when it is told to.
GRACE_SECONDS = 30.0


class LocalFleet:
    """See base.Connector. Call `pump` often: nothing happens otherwise."""

    def __init__(self, program: Program, clock: Callable[[], Instant], boot: str) -> None:
        self._program = program
        self._clock = clock
        self._boot = boot  # tells this run of the fleet from others
        self._known: set[str] = set()
        self._failed: set[str] = set()
        self._cordoned: set[str] = set()
        self._processes = NodeProcesses()
        self._checks = LocalChecks(program)
        self._works: dict[str, LocalWork] = {}
        self._told = 0  # failures and silences told, for their ids
        self._journal: list[NewEvent] = []
        self._acknowledged = 0

    # ---- the machine room

    def add(self, node: str) -> None:
        """There is such a node; its process starts."""
        self._known.add(node)
        if node not in self._failed:
            self._processes.start(node)

    def remove(self, node: str) -> None:
        """The node is gone for good."""
        self._known.discard(node)
        self._failed.discard(node)
        self._checks.forget(node)
        self._lose(node, "the node was removed")
        self._processes.end(node)

    def fail(self, node: str) -> None:
        """Somebody says that the node is dead: so it is, with all that runs on it."""
        if node in self._known:
            self._failed.add(node)
            self._checks.stop(node)
            self._lose(node, "the node was marked failed")
            self._processes.end(node)

    def repair(self, node: str) -> None:
        """The node is well again."""
        if node in self._known:
            self._failed.discard(node)
            self._processes.start(node)

    def pid_of(self, node: str) -> int | None:
        """The process that stands for the node, while it is up."""
        process = self._processes.get(node)
        return process.pid if process is not None else None

    def pids_of(self, job: str) -> list[int]:
        """The processes of the job's work."""
        return [pid for process in self._processes for key, pid in process.works.items() if read_key(key)[0] == job]

    @property
    def busy(self) -> bool:
        """Whether work was told to start or to stop and has not yet, or a node to be checked."""
        return bool(self._checks) or any(
            node in work.stopping or (process := self._processes.get(node)) is None or key_of(work.job, generation) not in process.works
            for work in self._works.values()
            for node, generation in work.nodes.items()
            if node not in work.done
        )

    def close(self) -> None:
        """End all processes."""
        self._processes.close()

    # ---- effects

    def capabilities(self) -> Capabilities:
        return Capabilities(checkpoint=False, cordon=True, check=True)

    def start(self, work: Work, generation: int, slots: Sequence[Slot]) -> None:
        known = self._works.setdefault(work.job, LocalWork(work.job))
        if generation <= known.generation:
            return
        known.take(generation, list(slots))
        for slot in slots:
            process = self._processes.get(slot.node)
            if process is None:
                self._stopped(known, slot.node, "its node is down")
            else:
                env = {**self._program.env, **_environment(work, generation, slot)}
                log = self._program.directory / f"{work.job}-{slot.node}.log"
                process.run(key_of(work.job, generation), list(self._program.argv), env, log)

    def stop(self, job: str, generation: int, nodes: Sequence[str], grace: Duration | None = None) -> None:
        known = self._works.get(job)
        if known is None:
            return
        for node in nodes:
            if not known.has(node, generation):
                continue
            known.stopping.add(node)
            process = self._processes.get(node)
            if node in known.done:
                self._stopped(known, node, "ended by itself")
            elif process is not None:
                process.stop(key_of(job, known.nodes[node]), GRACE_SECONDS if grace is None else grace / SECOND)

    def checkpoint(self, job: str) -> None:
        """Nothing to do: what runs here saves its progress by itself."""

    def cordon(self, node: str) -> None:
        self._cordoned.add(node)

    def uncordon(self, node: str) -> None:
        self._cordoned.discard(node)

    def check(self, node: str, number: int) -> None:
        process = self._processes.get(node)
        if process is not None:  # else it has failed, which was told
            self._checks.start(process, number)

    def look(self, node: str) -> NodeSight:
        process = self._processes.get(node)
        return NodeSight(
            known=node in self._known,
            up=process is not None and node not in self._failed,
            cordoned=node in self._cordoned,
            jobs=tuple(work.job for work in self._works.values() if node in work.nodes and not work.ended),
        )

    # ---- facts

    def observe(self, cursor: str) -> Observation:
        """What was told and not acknowledged yet; the cursor counts the facts taken."""
        taken = int(cursor or 0) - self._acknowledged
        if taken > 0:
            del self._journal[:taken]
            self._acknowledged += taken
        return Observation(facts=tuple(self._journal), cursor=str(self._acknowledged + len(self._journal)))

    def pump(self, seconds: float = 0.0) -> None:
        """Listen to the nodes for so long at most, and until one of them says something."""
        for process, lines in self._processes.listen(seconds):
            if lines is None:
                self._died(process)
                continue
            if process.silent:
                process.silent = False
                self._tell(f"n/{process.node}/{self._next()}/heard", NodeRecovered(node=process.node, reason="it shows signs of life"))
            for line in lines:
                self._heard(process, line)
        for answer in self._checks.overdue():
            self._checked(answer)
        silent = time.monotonic() - SILENT_SECONDS
        for process in self._processes:
            if process.heard_at < silent and not process.silent:
                process.silent = True
                self._tell(f"n/{process.node}/{self._next()}/silent", NodeUnreachable(node=process.node, reason="no sign of life"))

    def forget(self, job: str, generation: int, nodes: Mapping[str, int]) -> None:
        """Work that an earlier run of the fleet has left in the log: node -> generation. Its processes ended with that run."""
        known = self._works.setdefault(job, LocalWork(job, generation=generation))
        known.nodes.update(nodes)
        for node in nodes:
            self._stopped(known, node, "the nodes of this machine were started anew")

    def recovered(self, node: str) -> None:
        """A node that an earlier run of the fleet has found dead is up again."""
        self._tell(f"n/{node}/{self._next()}/started", NodeRecovered(node=node, reason="its process was started anew"))

    # ---- what nodes say

    def _heard(self, process: NodeProcess, line: dict[str, Any]) -> None:
        answer = self._checks.heard(process, line)
        if answer is not None:
            self._checked(answer)
        if "started" in line:
            process.works[line["started"]] = line["pid"]
            self._started(process.node, *read_key(line["started"]))
        elif "ended" in line:
            process.works.pop(line["ended"], None)
            self._ended(process.node, line)

    def _checked(self, answer: NodeChecked) -> None:
        self._tell(f"n/{answer.node}/{self._next()}/check", answer)

    def _started(self, node: str, job: str, generation: int) -> None:
        work = self._works.get(job)
        if work is not None and work.nodes.get(node) == generation:
            self._tell(f"w/{job}/{generation}/start/{node}", WorkStarted(job=job, generation=generation, nodes=(node,)))

    def _ended(self, node: str, line: dict[str, Any]) -> None:
        job, generation = read_key(line["ended"])
        work = self._works.get(job)
        if work is None or work.nodes.get(node) != generation:
            return
        code = line["code"]
        if line["told"]:
            self._stopped(work, node, "stopped as told")
        elif code == 0:
            self._ended_well(work, node)
        elif code < 0:
            self._down(node, f"work of {job} was killed by signal {-code}")
        elif self._program.blames_nodes and not line["error"]:
            self._down(node, f"work of {job} ended with code {code}")
        else:
            self._ended_badly(work, node, line["error"] or f"its program ended with code {code} on {node}")

    def _ended_well(self, work: LocalWork, node: str) -> None:
        work.done.add(node)
        if node in work.stopping or work.ended:
            self._stopped(work, node, "ended by itself")
        elif work.is_done:
            work.ended = True
            self._tell(f"w/{work.job}/{work.generation}/end", JobFinished(job=work.job, generation=work.generation))
            for name in sorted(work.done):
                self._stopped(work, name, "finished")

    def _ended_badly(self, work: LocalWork, node: str, reason: str) -> None:
        if not work.ended:
            work.ended = True
            self._tell(f"w/{work.job}/{work.generation}/end", JobFailed(job=work.job, generation=work.generation, reason=reason))
        self._stopped(work, node, reason)
        self.stop(work.job, work.generation, list(work.nodes))

    def _died(self, process: NodeProcess) -> None:
        self._down(process.node, f"its process {process.pid} {self._processes.end(process.node)}")

    def _down(self, node: str, reason: str) -> None:
        """The node has failed, and nothing runs on it any more."""
        self._failed.add(node)
        self._checks.stop(node)
        self._tell(f"n/{node}/{self._next()}/failed", NodeFailed(node=node, reason=reason, fencing=True))
        self._lose(node, reason)
        self._processes.end(node)

    def _lose(self, node: str, reason: str) -> None:
        for work in list(self._works.values()):
            if node in work.nodes:
                self._stopped(work, node, reason)

    def _stopped(self, work: LocalWork, node: str, reason: str) -> None:
        generation = work.leave(node)
        fact = WorkStopped(job=work.job, generation=generation, nodes=(node,), reason=reason)
        self._tell(f"w/{work.job}/{generation}/stop/{node}", fact)
        if work.ended and not work.nodes:
            self._works.pop(work.job, None)

    def _next(self) -> str:
        self._told += 1
        return f"{self._boot}/{self._told}"

    def _tell(self, source_id: str, payload: Payload) -> None:
        self._journal.append(NewEvent(payload, self._clock(), LOCAL_SOURCE, source_id))


def _environment(work: Work, generation: int, slot: Slot) -> dict[str, str]:
    """What tells a process which work it is; later generations it hears of from the control plane."""
    return {
        "SLICEKEEPER_JOB": work.job,
        "SLICEKEEPER_NODE": slot.node,
        "SLICEKEEPER_GENERATION": str(generation),
        "SLICEKEEPER_GPUS": ",".join(map(str, slot.gpus)),
    }
