"""Repaired local nodes are checked by real programs, and may die of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from clusters.connectors.local.driver import LocalDriver
from clusters.domain.commands import MarkNode, NodeVerb
from clusters.domain.events import NewEvent, Payload
from clusters.domain.health_events import NodeChecked
from clusters.domain.inventory_events import NodeRegistered, NodeRemoved
from clusters.domain.state import Node
from clusters.eventlog.log import wall_now
from clusters.eventlog.request import Request
from scheduling.domain.decide import decide
from tests.integration.local.test_driver import NAME, Room
from tests.support.world import ask

NODE = "r1-n1"


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path)
    yield made
    made.driver.close()


def checked_by(room: Room, script: str, seconds: float = 60.0) -> None:
    """Let this shell script check the nodes."""
    room.driver.close()
    room.program = replace(room.program, check=("/bin/sh", "-c", script), check_seconds=seconds)
    room.driver = LocalDriver(room.log, NAME, room.program)


def repair(room: Room) -> None:
    """Break the node, and say that it is repaired."""
    room.do(MarkNode(node=NODE, verb=NodeVerb.FAIL, by="op"))
    room.until(lambda: room.driver.fleet.pid_of(NODE) is None, "it is down")
    room.do(MarkNode(node=NODE, verb=NodeVerb.REPAIR, by="op"))
    assert not node(room).placeable


def node(room: Room) -> Node:
    return room.state.nodes[NODE]


def answers(room: Room) -> list[tuple[int, bool, str]]:
    events = [event.payload for event in room.log.read(NAME, 0)]
    return [(payload.number, payload.passed, payload.detail) for payload in events if isinstance(payload, NodeChecked)]


def test_without_a_program_the_process_of_the_node_answers(room: Room) -> None:
    repair(room)
    room.until(lambda: node(room).placeable, "it has passed")
    assert answers(room) == [(1, True, f"process {room.driver.fleet.pid_of(NODE)} answers")]


def test_a_program_that_ends_well_puts_the_node_into_service_and_a_short_slice_gets_it(room: Room, tmp_path: Path) -> None:
    checked_by(room, 'echo "testing $SLICEKEEPER_NODE"; while [ ! -e "$GATE.checked" ]; do sleep 0.02; done')
    job = room.run(ask(4))
    other = room.run(ask(4))
    repair(room)
    room.until(lambda: (tmp_path / f"check-{NODE}.log").exists(), "the check runs")
    assert room.state.jobs[job].lost_slots or room.state.jobs[other].lost_slots
    (tmp_path / "gate.checked").touch()
    room.until(lambda: not room.state.lost, "the slice is whole again")
    assert node(room).job in (job, other)
    assert answers(room) == [(1, True, "/bin/sh ended with code 0")]
    assert (tmp_path / f"check-{NODE}.log").read_text() == f"testing {NODE}\n"


def test_a_program_that_ends_with_an_error_keeps_the_node_out_until_it_is_repaired_again(room: Room, tmp_path: Path) -> None:
    checked_by(room, 'test -e "$GATE.mended"')
    repair(room)
    room.until(lambda: node(room).condition == "failed", "it has not passed")
    assert answers(room) == [(1, False, "/bin/sh ended with code 1")]
    room.driver.close()
    room.driver = LocalDriver(room.log, NAME, room.program)  # its process is started anew, which mends nothing
    room.driver.turn()
    assert node(room).condition == "failed"
    (tmp_path / "gate.mended").touch()
    room.do(MarkNode(node=NODE, verb=NodeVerb.REPAIR, by="op"))
    room.until(lambda: node(room).placeable, "it has passed")
    assert [number for number, *_ in answers(room)] == [1, 2]


def test_a_check_that_takes_too_long_has_failed_and_leaves_nothing_behind(room: Room, tmp_path: Path) -> None:
    checked_by(room, 'echo $$ > "$GATE.pid"; exec sleep 3600', seconds=0.3)
    repair(room)
    room.until(lambda: node(room).condition == "failed", "its time is up")
    assert answers(room) == [(1, False, "no answer within 0.3 s")]
    process = room.driver.fleet._processes.get(NODE)
    assert process is not None
    room.until(lambda: not process.works, "the program is gone")


def test_a_check_that_cannot_be_started_says_why(room: Room) -> None:
    checked_by(room, "")
    room.driver.close()
    room.driver = LocalDriver(room.log, NAME, replace(room.program, check=("/nowhere/at/all",)))
    repair(room)
    room.until(lambda: node(room).condition == "failed", "it has not passed")
    assert answers(room) == [(1, False, "/nowhere/at/all: No such file or directory")]


def test_a_node_that_is_killed_while_it_is_checked_has_failed_as_any_other(room: Room, tmp_path: Path) -> None:
    checked_by(room, 'touch "$GATE.runs"; exec sleep 3600')
    repair(room)
    room.until(lambda: (tmp_path / "gate.runs").exists(), "the check runs")
    agent = room.driver.fleet.pid_of(NODE)
    assert agent is not None
    os.kill(agent, signal.SIGKILL)
    room.until(lambda: node(room).condition == "failed", "it is dead")
    assert answers(room) == []
    assert node(room).unchecked is None


def test_a_check_that_was_cut_off_with_its_driver_runs_again_and_is_answered_once(room: Room, tmp_path: Path) -> None:
    checked_by(room, 'touch "$GATE.runs"; while [ ! -e "$GATE.checked" ]; do sleep 0.02; done')
    repair(room)
    room.until(lambda: (tmp_path / "gate.runs").exists(), "the check runs")
    room.driver.close()
    (tmp_path / "gate.checked").touch()
    room.driver = LocalDriver(room.log, NAME, room.program)
    room.until(lambda: node(room).placeable, "it has passed")
    for _ in range(5):
        room.driver.turn()
    assert answers(room) == [(1, True, "/bin/sh ended with code 0")]


def test_a_node_that_was_removed_and_comes_back_is_checked_as_any_other(room: Room) -> None:
    repair(room)
    room.until(lambda: node(room).placeable, "it has passed")
    facts: list[Payload] = [NodeRemoved(node=NODE, reason="sold"), NodeRegistered(node=NODE, rack="r1", domain="r1", gpus=4)]
    for number, fact in enumerate(facts):
        room.log.append_facts(NAME, [NewEvent(fact, wall_now(), "import", f"again/{number}")])
    room.driver.turn()
    repair(room)
    room.until(lambda: node(room).placeable, "it has passed again")
    assert [(number, passed) for number, passed, _ in answers(room)] == [(1, True), (1, True)]


def test_a_person_who_vouches_for_the_node_waits_for_no_check(room: Room) -> None:
    checked_by(room, "exec sleep 3600")
    repair(room)
    room.until(lambda: node(room).asked_at is not None, "it is asked for")
    command = MarkNode(node=NODE, verb=NodeVerb.RELEASE, by="op")
    room.log.commit(NAME, Request(command=command, source="user:op", request_id="vouch"), decide)
    assert node(room).placeable
