"""Facts: numbered without gaps, stored once, all or none."""

from __future__ import annotations

import re
from typing import Any

import pytest

from clusters.domain.errors import ClusterExists, InvalidRequest, SourceConflict, SourceSequence, UnknownCluster
from clusters.domain.events import NewEvent, Payload, PolicyActivated
from clusters.domain.health_events import NodeSuspected
from clusters.domain.inventory_events import ClusterCreated
from clusters.domain.job_events import JobPlaced, JobSubmitted, NodeSwapped, SliceAssignment, SliceMoved
from clusters.domain.policy import Policy
from clusters.eventlog.log import StoredLog
from clusters.eventlog.port import Receipt
from tests.contract.eventlog.conftest import WALL, Opener
from tests.contract.eventlog.toy import CLUSTER, ask, create, fact, opening, suspicion


def test_a_new_log_holds_its_opening_events(log: StoredLog) -> None:
    log.create("one", opening("one"))
    assert [(event.seq, event.kind) for event in log.read("one")] == [(1, "ClusterCreated"), (2, "ClockSet"), (3, "PolicyActivated")]
    assert (log.clusters(), log.head("one")) == (("one",), 3)


def test_a_cluster_exists_once(log: StoredLog) -> None:
    log.create("one", opening("one"))
    with pytest.raises(ClusterExists, match="'one'"):
        log.create("one", opening("one"))
    assert log.head("one") == 3


@pytest.mark.parametrize("name", ["", "-one", "a b", "ä", "x" * 64, "a/b"])
def test_a_cluster_whose_name_no_url_could_hold_is_refused(log: StoredLog, name: str) -> None:
    with pytest.raises(InvalidRequest, match="cluster"):
        log.create(name, opening(name))


def test_a_log_begins_with_its_creation(log: StoredLog) -> None:
    with pytest.raises(InvalidRequest, match="ClusterCreated"):
        log.create("one", opening("one")[1:])
    with pytest.raises(InvalidRequest, match="ClusterCreated"):
        log.create("one", opening("two"))
    with pytest.raises(InvalidRequest, match="ClusterCreated"):
        log.create("one", [])
    assert log.clusters() == ()


@pytest.mark.parametrize("name", ["none", "", "a b", "a\0b", "\udcff", "x" * 5_000])
def test_an_unknown_cluster_is_named_also_where_no_database_could_look_for_it(log: StoredLog, name: str) -> None:
    for call in (
        lambda: log.head(name),
        lambda: log.read(name),
        lambda: log.append_facts(name, [suspicion(1)]),
        lambda: log.live(name),
        lambda: log.decisions(name),
        lambda: log.about(name, "r1"),
    ):
        with pytest.raises(UnknownCluster, match=re.escape(repr(name))):
            call()


def test_clusters_have_logs_of_their_own(log: StoredLog) -> None:
    create(log, cluster="one")
    create(log, cluster="two", nodes=2)
    log.append_facts("one", [suspicion(1)])
    assert (log.head("one"), log.head("two")) == (9, 6)
    assert log.append_facts("two", [suspicion(1)]) == (Receipt(7, False),)


def test_facts_are_numbered_from_the_head_in_the_order_given(toy: StoredLog) -> None:
    head = toy.head(CLUSTER)
    receipts = toy.append_facts(CLUSTER, [suspicion(2), suspicion(1), suspicion(3)])
    assert receipts == (Receipt(head + 1, False), Receipt(head + 2, False), Receipt(head + 3, False))
    assert [event.source_id for event in toy.read(CLUSTER, head)] == ["s2", "s1", "s3"]


def test_r09_order_is_by_seq_and_both_times_are_kept(toy: StoredLog) -> None:
    head = toy.head(CLUSTER)
    toy.append_facts(CLUSTER, [suspicion(900)])
    toy.append_facts(CLUSTER, [suspicion(5)])
    assert [(event.occurred_at, event.recorded_at) for event in toy.read(CLUSTER, head)] == [(900, WALL), (5, WALL)]


def test_what_is_read_is_what_was_given(toy: StoredLog) -> None:
    given_fact = NewEvent(
        NodeSuspected(node="r1-n1", reason="döubt\n\x00 '\"\\ \U0001f4a1", evidence=("a", "")), 5, "prøbe", "id 1", 7, 3, "request-1"
    )
    (receipt,) = toy.append_facts(CLUSTER, [given_fact])
    (event,) = toy.read(CLUSTER, receipt.seq - 1)
    assert (event.payload, event.occurred_at, event.source, event.source_id) == given_fact[:4]
    assert (event.source_seq, event.causation, event.correlation) == given_fact[4:]
    assert (event.kind, event.version, event.subject, event.recorded_at) == ("NodeSuspected", 1, "r1-n1", WALL)


def test_no_facts_are_no_append(toy: StoredLog) -> None:
    heard: list[str] = []
    toy.subscribe(heard.append)
    assert toy.append_facts(CLUSTER, []) == ()
    assert heard == []


def test_r07_a_refused_append_leaves_no_gap(toy: StoredLog) -> None:
    toy.append_facts(CLUSTER, [suspicion(1)])
    for number in range(10, 20):
        with pytest.raises(SourceConflict):
            toy.append_facts(CLUSTER, [suspicion(number), suspicion(1)._replace(occurred_at=99)])
        toy.append_facts(CLUSTER, [suspicion(number)])
    assert [event.seq for event in toy.read(CLUSTER)] == list(range(1, toy.head(CLUSTER) + 1))


def test_a_source_numbers_its_facts_always_or_never(opener: Opener) -> None:
    log = opener()
    create(log)
    log.append_facts(CLUSTER, [suspicion(1, source="counts")._replace(source_seq=1), suspicion(1, source="plain")])
    for each in (log, opener()):  # one that remembers, and one that must look
        with pytest.raises(SourceSequence, match=r"'counts' has always"):
            each.append_facts(CLUSTER, [suspicion(2, source="counts")])
        with pytest.raises(SourceSequence, match=r"'plain' has never"):
            each.append_facts(CLUSTER, [suspicion(3), suspicion(2, source="plain")._replace(source_seq=2)])
    with pytest.raises(SourceSequence, match=r"some of its facts"):
        log.append_facts(CLUSTER, [suspicion(4, source="new"), suspicion(5, source="new")._replace(source_seq=1)])
    assert log.append_facts(CLUSTER, [suspicion(6, source="new")._replace(source_seq=1)]) == (Receipt(11, False),)


def test_a_refused_append_does_not_fix_its_source(toy: StoredLog) -> None:
    toy.append_facts(CLUSTER, [suspicion(1)])
    with pytest.raises(SourceConflict):
        toy.append_facts(CLUSTER, [suspicion(2, source="new"), suspicion(1)._replace(occurred_at=9)])
    assert not toy.append_facts(CLUSTER, [suspicion(2, source="new")._replace(source_seq=4)])[0].duplicate


_PART = SliceAssignment(domain="d1", nodes=("r1-n1",))


@pytest.mark.parametrize(
    "payload",
    [
        JobPlaced(job="j000001", generation=1, slices=(_PART,)),
        NodeSwapped(job="j000001", generation=2, slice=0, slot=0, old="r1-n1", new="r1-n2", reason=""),
        SliceMoved(job="j000001", generation=2, slice=0, old_domain="d1", assignment=_PART, released=(), lost=(), reason=""),
        PolicyActivated(version=2, policy=Policy(), reason="", by=""),
        ClusterCreated(name=CLUSTER, connector="none"),
    ],
    ids=lambda payload: type(payload).__name__,
)
def test_placements_policies_and_creations_are_no_facts(toy: StoredLog, payload: Payload) -> None:
    with pytest.raises(InvalidRequest, match=type(payload).__name__):
        toy.append_facts(CLUSTER, [suspicion(1), fact(payload, "x")])
    assert toy.head(CLUSTER) == 8


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("source", ""),
        ("source", "x" * 65),
        ("source", "two\nlines"),
        ("source_id", ""),
        ("source_id", "x" * 129),
        ("source_id", "a\x00b"),
        ("source_id", "\ud800"),
        ("correlation", "x" * 129),
        ("occurred_at", -1),
        ("occurred_at", 2**63),
        ("source_seq", -1),
        ("causation", 2**63),
    ],
)
def test_an_envelope_that_no_store_could_hold_is_refused_by_name(toy: StoredLog, field: str, value: str | int) -> None:
    fields: dict[str, Any] = {**suspicion(1)._asdict(), field: value}
    with pytest.raises(InvalidRequest, match=field):
        toy.append_facts(CLUSTER, [NewEvent(**fields)])
    assert toy.head(CLUSTER) == 8


@pytest.mark.parametrize("name", ["a\x00b", "\ud800"], ids=["nul", "surrogate"])
def test_a_subject_that_no_store_could_hold_is_refused(toy: StoredLog, name: str) -> None:
    with pytest.raises(InvalidRequest, match="subject"):
        toy.append_facts(CLUSTER, [suspicion(1, node=name)])
    assert toy.head(CLUSTER) == 8


def test_a_submission_is_filed_under_the_job_it_names(toy: StoredLog) -> None:
    head = toy.head(CLUSTER)
    toy.append_facts(CLUSTER, [suspicion(1), fact(JobSubmitted(request=ask(), submitted_by="ada"), "j")])
    assert [event.seq for event in toy.about(CLUSTER, f"j{head + 2:06d}")] == [head + 2]
    assert [event.seq for event in toy.about(CLUSTER, "r1-n1", head)] == [head + 1]
    assert list(toy.about(CLUSTER, "r1-n1\x00")) == list(toy.about(CLUSTER, "r1-n1\ud800")) == []  # no store holds such text


def test_reading_takes_up_at_a_position_and_stops_at_a_limit(toy: StoredLog) -> None:
    toy.append_facts(CLUSTER, [suspicion(number) for number in range(5_000)])
    assert [event.seq for event in toy.read(CLUSTER, 4_990)] == list(range(4_991, 5_009))
    assert [event.seq for event in toy.read(CLUSTER, 1_999, 2_003)] == list(range(2_000, 4_003))
    assert list(toy.read(CLUSTER, toy.head(CLUSTER))) == []
    assert list(toy.read(CLUSTER, 10, 0)) == []
    assert len(list(toy.about(CLUSTER, "r1-n1"))) == 5_001


def test_subscribers_hear_of_new_facts_only_and_may_fail(toy: StoredLog, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str] = []

    def fails(cluster: str) -> None:
        raise ValueError(cluster)

    toy.subscribe(fails)
    stop = toy.subscribe(heard.append)
    toy.append_facts(CLUSTER, [suspicion(1)])
    toy.append_facts(CLUSTER, [suspicion(1)])
    assert heard == [CLUSTER]
    assert "a subscriber of cluster 'toy' failed" in caplog.text
    stop()
    toy.append_facts(CLUSTER, [suspicion(2)])
    assert heard == [CLUSTER]


def test_a_guard_looks_under_the_lock_and_what_it_raises_refuses_the_facts(toy: StoredLog) -> None:
    def refuse() -> None:
        raise UnknownCluster("lost")

    with pytest.raises(UnknownCluster, match="lost"):
        toy.append_facts(CLUSTER, [suspicion(1)], refuse)
    assert toy.head(CLUSTER) == 8
    toy.append_facts(CLUSTER, [suspicion(1)], lambda: None)
    with pytest.raises(UnknownCluster, match="lost"):
        toy.append_facts(CLUSTER, [suspicion(1)], refuse)
