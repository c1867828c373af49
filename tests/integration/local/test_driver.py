"""A local fleet under real decisions: processes of this machine are killed, stopped and started anew, and the log follows."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clusters.connectors.local import fleet as local_fleet
from clusters.connectors.local.driver import LocalDriver
from clusters.connectors.local.program import Program
from clusters.domain.commands import CancelJob, Command, MarkNode, NodeVerb, RunPass, SubmitJob
from clusters.domain.events import NewEvent, Payload, PolicyActivated
from clusters.domain.invariants import check
from clusters.domain.inventory_events import ClockSet, ClusterCreated, NodeRegistered, RackRegistered
from clusters.domain.jobs import JobRequest, JobState
from clusters.domain.policy import Policy
from clusters.domain.state import LOCAL, ClusterState
from clusters.eventlog.log import wall_now
from clusters.eventlog.memory import MemoryLog
from clusters.eventlog.request import Request
from scheduling.domain.decide import decide
from tests.support.patience import PATIENCE
from tests.support.world import ask

NAME = "here"

#: Seconds after which a test gives up; nothing is asserted of how long things take.

#: Runs until the gate is opened, and ends with the code that is written there.
RUNS = 'while [ ! -e "$GATE" ]; do sleep 0.02; done; exit "$(cat "$GATE")"'


class Room:
    """Two racks of 4 local nodes, and whoever drives them."""

    def __init__(self, directory: Path) -> None:
        self.log = MemoryLog(wall_now)
        self.gate = directory / "gate"
        program = Program(argv=("/bin/sh", "-c", RUNS), directory=directory, env={"GATE": str(self.gate), "PATH": os.environ["PATH"]})
        self.program = program
        self.asked = 0
        wall = wall_now()
        payloads: list[Payload] = [
            ClusterCreated(name=NAME, connector=LOCAL),
            ClockSet(wall=wall, cluster_time=wall, speed=1.0),
            PolicyActivated(version=1, policy=Policy(), reason="", by=""),
        ]
        for rack in ("r1", "r2"):
            payloads.append(RackRegistered(rack=rack, block="b1", switch_trays=9))
            payloads += [NodeRegistered(node=f"{rack}-n{number}", rack=rack, domain=rack, gpus=4) for number in range(1, 5)]
        self.log.create(NAME, [NewEvent(payload, wall, "test", str(place)) for place, payload in enumerate(payloads)])
        self.driver = LocalDriver(self.log, NAME, program)

    def do(self, command: Command) -> Any:
        self.asked += 1
        return self.log.commit(NAME, Request(command=command, source="scheduler", request_id=f"{self.asked}"), decide)

    @property
    def state(self) -> ClusterState:
        with self.log.live(NAME).reading() as state:
            assert check(state) == []
            return state

    def until(self, holds: Callable[[], object], what: str = "") -> None:
        """Let the driver and the pass take turns until something holds."""
        ends = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < ends, f"{what}; the log: {self.told()[-12:]}"
            self.driver.turn()
            self.do(RunPass())

    def run(self, request: JobRequest) -> str:
        """A job that runs everywhere."""
        self.do(SubmitJob(request=request, by="ada"))
        job = max(self.state.jobs)
        self.until(lambda: self.state.jobs[job].state is JobState.RUNNING, "it runs")
        return job

    def told(self) -> list[str]:
        return [type(event.payload).__name__ for event in self.log.read(NAME, 0)]

    def reasons(self, kind: str) -> list[str]:
        return [getattr(event.payload, "reason", "") for event in self.log.read(NAME, 0) if event.kind == kind]

    def nodes(self, job: str) -> list[str | None]:
        return self.state.jobs[job].slices[0].nodes

    def pid(self, job: str, node: str | None) -> int:
        """The process of the job's work on a node."""
        process = self.driver.fleet._processes.get(str(node))
        assert process is not None
        return next(pid for key, pid in process.works.items() if key.startswith(f"{job}/"))

    def pids(self, job: str) -> dict[str, int]:
        return {str(node): self.pid(job, node) for node in self.nodes(job)}

    def open(self, code: int) -> None:
        """Let all processes end with a code."""
        draft = self.gate.with_suffix(".draft")
        draft.write_text(str(code))
        draft.rename(self.gate)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path)
    yield made
    made.driver.close()


def gone(*pids: int) -> bool:
    """Whether all these processes have ended, or do in a while."""
    ends = time.monotonic() + PATIENCE
    while any(map(alive, pids)) and time.monotonic() < ends:
        time.sleep(0.01)
    return not any(map(alive, pids))


def alive(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    with suppress(OSError):
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_work_that_is_killed_takes_its_node_with_it_and_a_spare_takes_over_while_the_others_stay(room: Room) -> None:
    job = room.run(ask(2))
    before = room.pids(job)
    lost, other = list(before)
    os.kill(before[lost], signal.SIGKILL)
    room.until(lambda: room.state.jobs[job].swaps == 1 and room.state.jobs[job].state is JobState.RUNNING, "it is swapped")
    after = room.pids(job)
    assert after[other] == before[other]
    assert lost not in after
    assert room.state.nodes[lost].condition == "failed"
    assert "killed by signal 9" in room.reasons("NodeFailed")[0]
    assert gone(before[lost])


def test_a_node_whose_process_is_killed_takes_its_work_with_it(room: Room) -> None:
    job = room.run(ask(2))
    before = room.pids(job)
    lost, other = list(before)
    agent = room.driver.fleet.pid_of(lost)
    assert agent is not None
    os.kill(agent, signal.SIGKILL)
    room.until(lambda: room.state.jobs[job].swaps == 1 and room.state.jobs[job].state is JobState.RUNNING, "it is swapped")
    assert room.pids(job)[other] == before[other]
    assert gone(before[lost])  # nobody was left to stop it but the fleet


def test_more_failures_than_spares_move_the_slice_and_the_nodes_left_behind_are_freed_once_their_work_has_stopped(room: Room) -> None:
    job = room.run(ask(3))
    before = room.pids(job)
    for node in list(before)[:2]:
        os.kill(before[node], signal.SIGKILL)
    room.until(lambda: room.state.jobs[job].moves == 1 and room.state.jobs[job].state is JobState.RUNNING, "it has moved")
    room.until(lambda: len(room.state.jobs[job].held_nodes) == 3, "the old place is free")
    assert {str(node)[:2] for node in room.nodes(job)} == {"r2"}
    assert gone(*before.values())


def test_work_that_ends_well_everywhere_finishes_the_job(room: Room) -> None:
    job = room.run(ask(2))
    room.open(0)
    room.until(lambda: job in room.state.ended, "it ends")
    assert room.state.ended[job] is JobState.FINISHED


def test_a_program_that_fails_fails_its_job_and_no_node(room: Room) -> None:
    job = room.run(ask(1))
    room.open(3)
    room.until(lambda: job in room.state.ended, "it ends")
    assert room.state.ended[job] is JobState.FAILED
    assert room.reasons("JobFailed") == [f"its program ended with code 3 on {room.reasons('WorkStopped')[0].rpartition(' ')[2]}"]
    assert "NodeFailed" not in room.told()


def test_where_nodes_are_blamed_for_errors_one_is_replaced(room: Room) -> None:
    room.driver.close()
    room.driver = LocalDriver(room.log, NAME, replace(room.program, blames_nodes=True))
    job = room.run(ask(1))
    (lost,) = room.pids(job)
    room.open(3)
    room.until(lambda: room.state.jobs[job].swaps + room.state.jobs[job].moves >= 1, "it is replaced")
    assert room.state.nodes[lost].condition == "failed"
    assert "JobFailed" not in room.told()


def test_a_cancelled_job_is_stopped(room: Room) -> None:
    job = room.run(ask(2))
    pids = room.pids(job)
    room.do(CancelJob(job=job, by="ada"))
    room.until(lambda: job in room.state.ended, "it ends")
    assert gone(*pids.values())


def test_a_node_that_an_operator_fails_is_stopped_and_one_that_is_repaired_is_up_again(room: Room) -> None:
    job = room.run(ask(2))
    node, pid = next(iter(room.pids(job).items()))
    room.do(MarkNode(node=node, verb=NodeVerb.FAIL, by="op"))
    room.until(lambda: room.driver.fleet.pid_of(node) is None, "it is down")
    assert gone(pid)
    room.do(MarkNode(node=node, verb=NodeVerb.REPAIR, by="op"))
    room.until(lambda: room.state.nodes[node].placeable, "it is up, and has passed its check")
    assert room.driver.fleet.pid_of(node) is not None


def test_a_node_that_is_silent_is_unreachable_and_not_dead(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_fleet, "SILENT_SECONDS", 2.0)  # twice the beat
    agent = room.driver.fleet.pid_of("r1-n1")
    assert agent is not None
    os.kill(agent, signal.SIGSTOP)
    room.until(lambda: room.state.nodes["r1-n1"].condition == "unknown", "it is not heard")
    os.kill(agent, signal.SIGCONT)
    room.until(lambda: room.state.nodes["r1-n1"].condition == "healthy", "it is heard again")
    assert room.driver.fleet.pid_of("r1-n1") == agent


def test_what_happens_while_the_log_is_away_is_told_once_it_is_back(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    job = room.run(ask(2))
    before = room.pids(job)
    lost, other = list(before)

    def away(*_: Any) -> Any:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(room.log, "append_facts", away)
        os.kill(before[lost], signal.SIGKILL)
        with pytest.raises(OSError, match="the disk is full"):
            room.until(lambda: False)
    assert room.state.nodes[lost].condition == "healthy"
    room.until(lambda: room.state.jobs[job].swaps == 1 and room.state.jobs[job].state is JobState.RUNNING, "it is swapped")
    assert room.pids(job)[other] == before[other]
    assert room.told().count("NodeFailed") == 1


def test_a_fleet_started_anew_tells_what_has_ended_with_the_one_before(room: Room) -> None:
    job = room.run(ask(2))
    before = room.pids(job)
    room.driver.close()
    assert gone(*before.values())
    room.driver = LocalDriver(room.log, NAME, room.program)
    room.until(lambda: room.state.jobs[job].state is JobState.RUNNING and room.state.jobs[job].generation > 1, "it runs again")
    assert set(room.pids(job).values()).isdisjoint(before.values())


def test_what_was_placed_while_nobody_drove_the_fleet_starts_when_somebody_does(room: Room) -> None:
    room.driver.close()
    room.do(SubmitJob(request=ask(2), by="ada"))
    room.do(RunPass())
    job = max(room.state.jobs)
    room.driver = LocalDriver(room.log, NAME, room.program)
    room.until(lambda: room.state.jobs[job].state is JobState.RUNNING, "it runs")
    assert room.state.jobs[job].generation == 1


def test_a_program_that_cannot_be_started_fails_the_job_and_says_so(room: Room) -> None:
    room.driver.close()
    room.driver = LocalDriver(room.log, NAME, Program(argv=("/nowhere/at/all",), directory=room.program.directory))
    room.do(SubmitJob(request=ask(1), by="ada"))
    job = max(room.state.jobs)
    room.until(lambda: job in room.state.ended, "it ends")
    assert room.reasons("JobFailed") == ["/nowhere/at/all: No such file or directory"]
