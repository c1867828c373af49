"""The log under several processes, some of which are killed: nothing acknowledged is lost, nothing is there twice or in part.

Short forms run with the suite; FAULTS=full runs the long ones.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from clusters.domain.invariants import check
from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.verify import verify
from tests.contract.eventlog.playground import Playground, playground
from tests.contract.eventlog.toy import create, decide, run_pass, submit
from tests.contract.eventlog.workers import batch_of
from tests.support.faults import rounds

pytestmark = [pytest.mark.faults, pytest.mark.slow]

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    with playground(tmp_path_factory.mktemp("playground")) as made:
        yield made


@pytest.fixture
def log(ground: Playground, django_db_blocker: DjangoDbBlocker) -> Iterator[DatabaseLog]:
    """This process's view of the playground's database, which is not the test database."""
    with django_db_blocker.unblock(), ground.log() as log:
        yield log


@pytest.fixture
def cluster(log: DatabaseLog) -> str:
    """A cluster of this test's own: one rack of sixteen nodes."""
    name = f"c{next(_NUMBERS)}"
    create(log, cluster=name, nodes=16)
    return name


def sent(log: DatabaseLog, cluster: str, source: str) -> list[str]:
    """Ids of what a source has in the log, in order."""
    return [event.source_id for event in log.read(cluster) if event.source == source]


def gapless(log: DatabaseLog, cluster: str) -> bool:
    return [event.seq for event in log.read(cluster)] == list(range(1, log.head(cluster) + 1))


def test_r01_r02_f02_a_writer_killed_at_any_time_loses_nothing_acknowledged_and_leaves_no_part(
    ground: Playground, log: DatabaseLog, cluster: str
) -> None:
    """R01, R02, F02: after each kill whole batches are there, and a client that sends the last one again makes no second copy."""
    size, draw = 1_000, random.Random(1)
    gate = ground.gate(cluster)
    gate.touch()
    for number in range(rounds(10, 100)):
        writer = f"writer{number}"
        process = ground.start("append", cluster, writer, gate, size, 10_000)
        assert process.line() == {"ready": True}
        time.sleep(draw.uniform(0.01, 0.2))
        acknowledged = [told["batch"] for told in process.kill()]
        with log.held(cluster):  # a server may still be ending what the killed client had asked of it
            stored = sent(log, cluster, writer)
        assert len(stored) % size == 0
        batches = len(stored) // size
        assert stored == [fact.source_id for batch in range(batches) for fact in batch_of(writer, batch, size)]
        assert acknowledged == list(range(len(acknowledged)))
        assert batches in (len(acknowledged), len(acknowledged) + 1)  # the last one may have been durable, but not yet acknowledged
        again = log.append_facts(cluster, batch_of(writer, len(acknowledged), size))
        assert {receipt.duplicate for receipt in again} == {batches > len(acknowledged)}
        assert len(sent(log, cluster, writer)) == (len(acknowledged) + 1) * size
    assert gapless(log, cluster)


@pytest.mark.parametrize(("delay_ms", "rolled_back"), [(0, 0), (5, 0), (2, 0.1)], ids=["fast", "slow commits", "rolled back"])
def test_r06_r07_f13_a_reader_sees_every_event_once_while_six_write(
    ground: Playground, log: DatabaseLog, cluster: str, delay_ms: int, rolled_back: float
) -> None:
    """R06, R07, F13: whatever commits late or not at all, the reader neither skips nor stalls."""
    gate, size, head = ground.gate(cluster), 100, log.head(cluster)
    batches = rounds(10 if delay_ms else 20, 170)
    count = 6 * batches * size
    writers = [ground.start("append", cluster, f"writer{number}", gate, size, batches, delay_ms, rolled_back) for number in range(6)]
    reader = ground.start("tail", cluster, gate, head, count)
    ground.together(gate, [*writers, reader])
    for writer in writers:
        assert len(writer.rest()) == batches
    assert reader.rest() == [{"seen": head + count, "distinct": count, "gapless": True}]
    assert log.head(cluster) == head + count


def test_r03_f05_the_same_facts_from_four_processes_at_once_are_stored_once(ground: Playground, log: DatabaseLog, cluster: str) -> None:
    gate, batches = ground.gate(cluster), rounds(20, 200)
    processes = [ground.start("append", cluster, "same", gate, 25, batches) for _ in range(4)]
    ground.together(gate, processes)
    told = [process.rest() for process in processes]
    assert len({tuple(line["first"] for line in lines) for lines in told}) == 1
    assert sorted(line["duplicate"] for lines in told for line in lines) == [False] * batches + [True] * 3 * batches
    assert sorted(sent(log, cluster, "same"), key=lambda name: int(name[1:])) == [f"s{number}" for number in range(25 * batches)]


def test_r03_the_same_request_from_four_processes_at_once_is_decided_once(ground: Playground, log: DatabaseLog, cluster: str) -> None:
    gate = ground.gate(cluster)
    processes = [ground.start("submit", cluster, number, gate) for number in range(4)]
    ground.together(gate, processes)
    told = [line for process in processes for line in process.rest()]
    assert sorted(line["duplicate"] for line in told) == [False, True, True, True]
    assert len({line["seq"] for line in told}) == 1
    assert len(list(log.decisions(cluster))) == 1


@pytest.mark.parametrize("placed", [False, True], ids=["waiting", "placed"])
def test_r05_of_four_processes_that_cancel_one_job_one_takes_effect(
    ground: Playground, log: DatabaseLog, cluster: str, placed: bool
) -> None:
    """R05: the others decide again, and are refused."""
    job = submit(log, "a", cluster=cluster)
    if placed:
        run_pass(log, cluster=cluster)
    gate = ground.gate(cluster)
    processes = [ground.start("cancel", cluster, f"user{number}", gate, job) for number in range(4)]
    ground.together(gate, processes)
    assert sorted(line["refused"] for process in processes for line in process.rest()) == [False, True, True, True]
    assert sum(event.kind in {"JobCancelled", "StopRequested"} for event in log.about(cluster, job)) == 1


def _sound(log: DatabaseLog, cluster: str) -> None:
    """No double booking anywhere: the fold and the table of claims refuse them, and every decision comes out the same again."""
    assert check(log.live(cluster).catch_up()) == []
    report = verify(log, cluster, decide)
    assert report.differences == []
    assert report.decisions["RunPass"].remade > 0


def test_r22_schedulers_at_once_book_nothing_twice(ground: Playground, log: DatabaseLog, cluster: str) -> None:
    """R22: two, then four."""
    for schedulers in (2, 4):
        gate, decisions = ground.gate(f"{cluster}-{schedulers}"), rounds(120, 10_000) // schedulers
        processes = [ground.start("schedule", cluster, f"{schedulers}x{number}", gate, decisions) for number in range(schedulers)]
        ground.together(gate, processes)
        for process in processes:
            process.rest()
        _sound(log, cluster)


def test_f11_a_process_stopped_while_it_decides_decides_again_on_what_happened_meanwhile(
    ground: Playground, log: DatabaseLog, cluster: str
) -> None:
    """F11: it holds nobody up meanwhile, and its old state does no harm."""
    gate, times = ground.gate(cluster), rounds(5, 100)
    sleeper = ground.start("doze", cluster, gate, times)
    ground.together(gate, [sleeper])
    for number in range(times):
        assert os.WIFSTOPPED(os.waitpid(sleeper.popen.pid, os.WUNTRACED)[1])
        head = log.head(cluster)
        submit(log, f"meanwhile{number}", cluster=cluster)
        run_pass(log, cluster=cluster)  # until the rack is full
        meanwhile = log.head(cluster)
        assert meanwhile > head
        sleeper.popen.send_signal(signal.SIGCONT)
        assert sleeper.line() == {"decided_on": [head, meanwhile]}
    sleeper.rest()
    _sound(log, cluster)


def test_a_scheduler_killed_at_any_time_leaves_whole_decisions(ground: Playground, log: DatabaseLog, cluster: str) -> None:
    """R25, F01: event, record and claims of a decision are there together or not at all."""
    gate, draw = ground.gate(cluster), random.Random(3)
    gate.touch()
    for number in range(rounds(4, 50)):
        process = ground.start("schedule", cluster, f"killed{number}", gate, 100_000)
        assert process.line() == {"ready": True}
        assert "made" in process.line()  # it is at work
        time.sleep(draw.uniform(0, 0.3))
        process.kill()
        _sound(log, cluster)


def test_r38_four_processes_that_write_for_long_never_find_the_database_locked(ground: Playground, log: DatabaseLog, cluster: str) -> None:
    """R38: facts and decisions, small and large; a process that meets an error ends badly, which `rest` finds."""
    gate = ground.gate(cluster)
    processes = [
        ground.start("append", cluster, "small", gate, 1, 1_000_000),
        ground.start("append", cluster, "large", gate, 1_000, 1_000_000),
        ground.start("schedule", cluster, "first", gate, 1_000_000),
        ground.start("schedule", cluster, "second", gate, 1_000_000),
    ]
    ground.together(gate, processes)
    for process in processes:
        process.line()  # it is at work
    end = time.monotonic() + rounds(5, 60)
    while time.monotonic() < end:
        time.sleep(0.1)
        assert [process.popen.poll() for process in processes] == [None] * 4
    for process in processes:
        process.kill()
    assert gapless(log, cluster)
    _sound(log, cluster)


def test_r12_every_process_folds_to_the_same_state(ground: Playground, log: DatabaseLog, cluster: str) -> None:
    """R12: from the beginning and from a snapshot, under PYTHONHASHSEED 0 to 9."""
    gate = ground.gate(cluster)
    gate.touch()
    ground.start("schedule", cluster, "before", gate, 60).rest()
    log.save_snapshot(cluster, log.live(cluster).catch_up())
    snapshot = log.snapshot_seq(cluster)
    ground.start("schedule", cluster, "after", gate, 20).rest()
    assert log.head(cluster) > snapshot
    told = [line for seed in range(10) for line in ground.start("digest", cluster, PYTHONHASHSEED=str(seed)).rest()]
    assert {line["snapshot"] for line in told} == {snapshot}
    assert len({line[way] for line in told for way in ("whole", "later")}) == 1
