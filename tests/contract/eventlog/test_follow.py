"""Live states: a fold that follows its log, starts from a snapshot, and starts anew when it must."""

from __future__ import annotations

import logging
import threading

import pytest

from clusters.domain.dump import dump_state
from clusters.domain.errors import BrokenInvariant, UnknownCluster
from clusters.domain.events import Event
from clusters.domain.evolve import evolve
from clusters.domain.state import ClusterState
from clusters.eventlog import follow, state_codec
from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.live import live
from clusters.eventlog.log import StoredLog
from clusters.eventlog.memory import MemoryLog
from clusters.eventlog.snapshots import maybe_snapshot
from clusters.eventlog.state_codec import pack
from clusters.eventlog.storage import StoredSnapshot
from clusters.eventlog.store import append_facts, create_cluster, default_log
from tests.contract.eventlog.conftest import Opener
from tests.contract.eventlog.toy import CLUSTER, create, opening, run_pass, stopped, submit, suspicion


def folded(log: StoredLog) -> ClusterState:
    """The state by folding everything, whatever snapshots there are."""
    state = ClusterState()
    for event in log.read(CLUSTER):
        evolve(state, event)
    return state


def busy(log: StoredLog) -> None:
    """A cluster in which something is going on."""
    create(log)
    jobs = [submit(log, f"job{number}") for number in range(5)]
    for _ in range(4):
        run_pass(log)
    log.append_facts(CLUSTER, [suspicion(1), stopped(jobs[0], ["r1-n1"], "s")])


def test_a_live_state_is_the_fold_of_the_log(opener: Opener) -> None:
    log = opener()
    busy(log)
    assert dump_state(log.live(CLUSTER).catch_up()) == dump_state(folded(log)) == dump_state(opener().live(CLUSTER).catch_up())


def test_a_live_state_follows_what_others_append(opener: Opener) -> None:
    log, other = opener(), opener()
    busy(log)
    with other.live(CLUSTER).reading() as state:
        assert state.seq == log.head(CLUSTER)
        job = submit(log, "late")
        assert job not in state.jobs
    with other.live(CLUSTER).reading() as state:
        assert job in state.jobs


def test_there_is_one_live_state_a_cluster_and_log(toy: StoredLog) -> None:
    assert toy.live(CLUSTER) is toy.live(CLUSTER)


def test_a_reader_holds_the_state_still(toy: StoredLog) -> None:
    waiting = threading.Event()
    done = threading.Event()

    def read() -> None:
        waiting.set()
        with toy.live(CLUSTER).lock:
            done.set()

    with toy.live(CLUSTER).reading():
        thread = threading.Thread(target=read)
        thread.start()
        waiting.wait()
        assert not done.wait(0.05)
    thread.join()
    assert done.is_set()


def test_a_state_starts_from_the_latest_snapshot_and_the_tail(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """R12: full replay, snapshot and tail, and live state are the same."""
    log = opener()
    busy(log)
    log.save_snapshot(CLUSTER, log.live(CLUSTER).catch_up())
    log.append_facts(CLUSTER, [suspicion(2)])
    folds: list[int] = []

    def count(state: ClusterState, event: Event) -> ClusterState:
        folds.append(event.seq)
        return evolve(state, event)

    monkeypatch.setattr(follow, "evolve", count)
    assert dump_state(opener().live(CLUSTER).catch_up()) == dump_state(folded(log)) == dump_state(log.live(CLUSTER).catch_up())
    assert folds == [log.head(CLUSTER)] * 2  # one event each: the new state's tail, and the old one's


def _snapshots(log: StoredLog, count: int) -> None:
    for number in range(count):
        log.append_facts(CLUSTER, [suspicion(10 + number)])
        log.save_snapshot(CLUSTER, log.live(CLUSTER).catch_up())


def test_the_last_two_snapshots_are_kept(opener: Opener) -> None:
    log = opener()
    busy(log)
    assert log.snapshot_seq(CLUSTER) == 0
    _snapshots(log, 3)
    head = log.head(CLUSTER)
    assert [snapshot.seq for snapshot in log.snapshots(CLUSTER)] == [head, head - 1]
    assert log.snapshot_seq(CLUSTER) == head
    earlier = log.load_snapshot(CLUSTER, head - 1)
    assert earlier is not None
    assert earlier.seq == head - 1
    assert log.load_snapshot(CLUSTER, head - 2) is None


def _damage(log: StoredLog, change: StoredSnapshot) -> None:
    log._store.save_snapshot(CLUSTER, change, 2)


@pytest.mark.parametrize("damage", ["flipped", "cut", "other version"])
def test_a_snapshot_that_cannot_be_trusted_is_passed_over(
    opener: Opener, damage: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = opener()
    busy(log)
    _snapshots(log, 2)
    latest = next(log.snapshots(CLUSTER))
    blob = latest.blob
    _damage(
        log,
        {
            "flipped": latest._replace(blob=blob[:50] + bytes([blob[50] ^ 1]) + blob[51:]),
            "cut": latest._replace(blob=blob[:-9]),
            "other version": latest._replace(version=latest.version + 1),
        }[damage],
    )
    with caplog.at_level(logging.WARNING):
        state = opener().load_snapshot(CLUSTER)
    assert state is not None
    assert state.seq == latest.seq - 1
    assert f"at {latest.seq} is damaged" in caplog.text
    assert dump_state(opener().live(CLUSTER).catch_up()) == dump_state(folded(log))


def test_without_any_sound_snapshot_the_log_is_folded_from_its_beginning(opener: Opener) -> None:
    log = opener()
    busy(log)
    _snapshots(log, 2)
    for snapshot in list(log.snapshots(CLUSTER)):
        _damage(log, snapshot._replace(checksum=b"x" * 16))
    assert log.load_snapshot(CLUSTER) is None
    assert dump_state(opener().live(CLUSTER).catch_up()) == dump_state(folded(log))


def test_a_fold_that_fails_half_way_is_begun_anew(toy: StoredLog, monkeypatch: pytest.MonkeyPatch) -> None:
    live_toy = toy.live(CLUSTER)
    before = live_toy.catch_up()
    submit(toy, "a")
    toy.append_facts(CLUSTER, [suspicion(1)])

    def fail(state: ClusterState, event: Event) -> ClusterState:
        raise BrokenInvariant("no")

    monkeypatch.setattr(follow, "evolve", fail)
    with pytest.raises(BrokenInvariant):
        live_toy.catch_up()
    with pytest.raises(BrokenInvariant, match="before it was folded"):
        _ = live_toy.state
    monkeypatch.undo()
    after = live_toy.catch_up()
    assert after is not before
    assert dump_state(after) == dump_state(folded(toy))


def test_a_log_that_took_the_place_of_another_is_folded_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster was removed and made again under the same name: its log is shorter, as long, or longer than what was folded."""
    log = MemoryLog()
    busy(log)
    live_toy = log.live(CLUSTER)
    folded_before = live_toy.catch_up()
    other = MemoryLog()
    other.create(CLUSTER, opening())
    for number in range(folded_before.seq + 5):
        monkeypatch.setattr(log._store, "_logs", other._store._logs)  # type: ignore[attr-defined]
        state = live_toy.catch_up()
        assert (state.seq, state.nodes) == (3 + number, {})
        other.append_facts(CLUSTER, [suspicion(number)])
        monkeypatch.undo()
        assert live_toy.catch_up().seq == folded_before.seq


def test_a_name_that_is_no_cluster_leaves_nothing_behind(log: StoredLog) -> None:
    with pytest.raises(UnknownCluster):
        log.live("none")
    create(log, cluster="none")
    assert log.live("none").catch_up().seq == 8


@pytest.mark.django_db
def test_the_state_of_this_installation_follows_its_log() -> None:
    create_cluster("lab", connector="simulated", options={"failure_rate": 0.5}, by="ada", speed=60.0, cluster_time=1_000)
    with live("lab").reading() as state:
        assert (state.name, state.connector, state.options, state.policy_version) == ("lab", "simulated", {"failure_rate": 0.5}, 1)
        assert (state.clock.cluster_time, state.clock.speed) == (1_000, 60.0)
    append_facts("lab", [suspicion(1)])
    assert live("lab").catch_up().seq == 4
    assert default_log().clusters() == ("lab",)


@pytest.mark.django_db
def test_a_snapshot_is_taken_when_it_is_due() -> None:
    create_cluster("lab")
    assert not maybe_snapshot("lab", interval=5)
    append_facts("lab", [suspicion(1), suspicion(2)])
    assert maybe_snapshot("lab", interval=5)
    assert not maybe_snapshot("lab", interval=5)
    assert default_log().snapshot_seq("lab") == 5


def test_equal_states_make_equal_snapshots() -> None:
    """So that copies of a log can be compared by their snapshots."""
    logs = (MemoryLog(wall=lambda: 5), MemoryLog(wall=lambda: 6))
    for log in logs:
        log.create(CLUSTER, opening())
        log.append_facts(CLUSTER, [suspicion(1)])
    first, second = (pack(log.live(CLUSTER).catch_up()) for log in logs)
    assert first == second
    assert state_codec.unpack(first) is not None


@pytest.mark.django_db
def test_memory_and_database_fold_to_the_same_state() -> None:
    """R12, across stores."""
    logs = (MemoryLog(wall=lambda: 9), DatabaseLog(wall=lambda: 9))
    for log in logs:
        busy(log)
    first, second = (pack(log.live(CLUSTER).catch_up()) for log in logs)
    assert first == second
