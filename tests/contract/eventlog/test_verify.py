"""Proofs: a sound log has none against it, and whatever is changed in it is found and placed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from clusters.domain.commands import CancelJob, Command
from clusters.domain.decision import ENGINE_VERSION, Decision, DecisionRecord, Refusal
from clusters.domain.ids import Instant
from clusters.domain.job_events import JobPlaced
from clusters.domain.state import ClusterState
from clusters.eventlog.codec import digest_of, encode_payload, encode_record
from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.log import StoredLog
from clusters.eventlog.request import Request
from clusters.eventlog.state_codec import pack
from clusters.eventlog.verify import Report, Tally, replay, verify
from tests.contract.eventlog.tampering import tamper
from tests.contract.eventlog.toy import CLUSTER, create, decide, run_pass, stopped, submit, suspicion


def busy(log: StoredLog) -> StoredLog:
    create(log)
    jobs = [submit(log, f"job{number}") for number in range(4)]
    for _ in range(3):
        run_pass(log)
    log.append_facts(CLUSTER, [stopped(jobs[0], ["r1-n1"], "s0"), suspicion(1, node="r1-n4")])
    log.commit(CLUSTER, Request(command=CancelJob(job=jobs[1], by="ada"), source="user:ada", request_id="c"), decide)
    log.save_snapshot(CLUSTER, log.live(CLUSTER).catch_up())
    return log


def found(report: Report) -> list[tuple[int, str]]:
    return [(difference.seq, difference.what) for difference in report.differences]


def placed_at(log: StoredLog) -> int:
    """Position of the last JobPlaced."""
    return max(event.seq for event in log.read(CLUSTER) if event.kind == "JobPlaced")


def test_nothing_is_found_in_a_sound_log(log: StoredLog) -> None:
    report = verify(busy(log), CLUSTER, decide)
    assert found(report) == []
    assert report.head == report.events.total() == log.head(CLUSTER)
    assert report.events["JobPlaced"] == 3
    assert report.decisions == {"SubmitJob": Tally(remade=4), "RunPass": Tally(remade=3), "CancelJob": Tally(remade=1)}


def test_a_replay_counts_every_event(log: StoredLog) -> None:
    report = replay(busy(log), CLUSTER)
    assert (report.head, report.events["NodeRegistered"], report.events.total()) == (log.head(CLUSTER), 4, log.head(CLUSTER))
    assert report.events_per_second > 0


def test_a_program_that_decides_otherwise_is_found(log: StoredLog) -> None:
    busy(log)

    def other(state: ClusterState, command: Command, now: Instant) -> Decision | Refusal:
        outcome = decide(state, command, now)
        if isinstance(command, CancelJob):
            return Refusal(code="state")
        if isinstance(outcome, Decision) and isinstance(outcome.events[0], JobPlaced):
            return replace(outcome, events=(*outcome.events, replace(outcome.events[0], generation=9)))
        return outcome

    report = verify(log, CLUSTER, other)
    assert report.decisions == {"SubmitJob": Tally(remade=4), "RunPass": Tally(differing=3), "CancelJob": Tally(differing=1)}
    assert found(report) == [(seq, "made again, its decision has 2 events, not 1") for seq in (13, 14, 15)] + [
        (18, "made again, its decision is a refusal: state")
    ]


def test_a_program_that_fails_on_a_command_ends_the_proof_there(log: StoredLog) -> None:
    busy(log)

    def failing(state: ClusterState, command: Command, now: Instant) -> Decision | Refusal:
        if state.seq == 13:
            raise KeyError("r9")
        return decide(state, command, now)

    assert found(verify(log, CLUSTER, failing)) == [(14, "the replay ends here: 'r9'")]


def _edit_placement(log: StoredLog, *, with_digest: bool) -> int:
    """Let a placed job stand on another free node."""
    seq = placed_at(log)
    (event,) = log.read(CLUSTER, seq - 1, 1)
    assert isinstance(event.payload, JobPlaced)
    part = replace(event.payload.slices[0], nodes=("r1-n4",))
    edited = replace(event.payload, slices=(part,))
    payload = encode_payload(edited)
    tamper("UPDATE clusters_logevent SET payload = %s WHERE seq = %s", payload.decode(), seq)
    if with_digest:
        tamper("UPDATE clusters_logevent SET digest = %s WHERE seq = %s", digest_of(event, payload), seq)
    return seq


@pytest.mark.parametrize("with_digest", [False, True])
@pytest.mark.django_db
def test_a_placement_that_was_edited_is_found_where_it_stands(with_digest: bool) -> None:
    log = busy(DatabaseLog())
    seq = _edit_placement(log, with_digest=with_digest)
    report = verify(DatabaseLog(), CLUSTER, decide)
    assert {difference.seq for difference in report.differences if "made again" in difference.what} == {seq}
    assert any("digest" in difference.what for difference in report.differences) is not with_digest
    assert report.decisions["RunPass"] == Tally(remade=2, differing=1)
    assert any("snapshot" in difference.what for difference in report.differences)
    assert any("claimed" in difference.what for difference in report.differences)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE clusters_logevent SET occurred_at = 3 WHERE seq = 17", "digest"),
        ("UPDATE clusters_logevent SET source = 'else' WHERE seq = 17", "digest"),
        ("UPDATE clusters_logevent SET correlation = 'else' WHERE seq = 17", "digest"),
        ("UPDATE clusters_logevent SET causation = 1 WHERE seq = 17", "digest"),
        ("UPDATE clusters_logevent SET subject = 'r1-n3' WHERE seq = 17", "filed under 'r1-n3'"),
        ("UPDATE clusters_logevent SET kind = 'NodePainted' WHERE seq = 17", "'NodePainted'"),
        ("UPDATE clusters_logevent SET payload = '{' WHERE seq = 17", "cannot be read"),
        ("DELETE FROM clusters_logevent WHERE seq = 17", "gap"),
    ],
)
@pytest.mark.django_db
def test_an_event_that_was_tampered_with_is_found(statement: str, told: str) -> None:
    log = busy(DatabaseLog())
    assert log.head(CLUSTER) == 18
    tamper(statement)
    report = verify(DatabaseLog(), CLUSTER, decide)
    assert report.differences
    assert (report.differences[0].seq, told in report.differences[0].what) == (17, True)


@pytest.mark.django_db
def test_a_claim_that_the_log_does_not_tell_of_is_found() -> None:
    log = busy(DatabaseLog())
    tamper("DELETE FROM clusters_gpuclaim WHERE node = 'r1-n2' AND gpu = 3")
    assert found(verify(log, CLUSTER, decide)) == [
        (18, "GPU 3 of node r1-n2 is claimed by ('j000010', 1) by the log and by None by the table")
    ]


@pytest.mark.django_db
def test_a_placement_without_a_decision_is_found() -> None:
    log = busy(DatabaseLog())
    seq = placed_at(log)
    tamper("DELETE FROM clusters_logdecision WHERE first_seq = %s", seq)
    assert (seq, "no decision led to it") in found(verify(log, CLUSTER, decide))


def test_a_snapshot_that_the_log_does_not_fold_to_is_found(log: StoredLog) -> None:
    busy(log)
    state = log.live(CLUSTER).catch_up()
    state.nodes["r1-n4"].failures = 7
    log._store.save_snapshot(CLUSTER, pack(state), 2)
    assert found(verify(log, CLUSTER, decide)) == [(18, "the snapshot of this position is not what the log folds to")]


def _change_records(change: Callable[[DecisionRecord], DecisionRecord]) -> None:
    log = DatabaseLog()
    for first, _, record in list(log.decisions(CLUSTER)):
        tamper("UPDATE clusters_logdecision SET record = %s WHERE first_seq = %s", encode_record(change(record)), first)


@pytest.mark.parametrize(
    "change",
    [
        lambda record: replace(record, engine_version=ENGINE_VERSION - 1),
        lambda record: replace(record, solver={"status": "optimal"}),
    ],
    ids=["older engine", "solver"],
)
@pytest.mark.django_db
def test_decisions_of_older_engines_and_of_solvers_are_held_to_the_invariants(
    change: Callable[[DecisionRecord], DecisionRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = busy(DatabaseLog())
    _change_records(change)

    def wrong(state: ClusterState, command: Command, now: Instant) -> Refusal:
        return Refusal(code="must not be asked")

    report = verify(log, CLUSTER, wrong)
    assert found(report) == []
    assert report.decisions == {"SubmitJob": Tally(validated=4), "RunPass": Tally(validated=3), "CancelJob": Tally(validated=1)}
    monkeypatch.setattr("clusters.domain.invariants.check", lambda state: ["a GPU has two owners"] if state.seq == 14 else [])
    assert found(verify(log, CLUSTER, wrong)) == [(14, "a GPU has two owners")]


@pytest.mark.django_db
def test_a_record_that_names_another_position_or_policy_is_found() -> None:
    log = busy(DatabaseLog())
    _change_records(lambda record: replace(record, at_seq=record.at_seq - (record.at_seq == 13), policy_version=1 + (record.at_seq == 8)))
    assert [seq for seq, _ in found(verify(log, CLUSTER, decide))] == [9, 14]


def test_what_is_appended_meanwhile_is_proved_too(log: StoredLog) -> None:
    busy(log)
    sent: list[int] = []

    def slow(state: ClusterState, command: Command, now: Instant) -> Decision | Refusal:
        if len(sent) < 3:
            sent.append(state.seq)
            log.append_facts(CLUSTER, [suspicion(50 + len(sent))])
        return decide(state, command, now)

    report = verify(log, CLUSTER, slow)
    assert (found(report), report.head) == ([], 21)
