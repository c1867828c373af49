"""Signals into the log: each once, only what says something new, and nothing by halves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusters.domain.books import Condition
from clusters.domain.errors import SourceConflict, SourceSequence, UnknownCluster
from clusters.domain.events import MAX_SOURCE, Event
from clusters.domain.inventory_events import NodeRegistered
from clusters.domain.signal_events import SignalReceived
from clusters.domain.signals import SignalKind, SignalScope, standing
from clusters.eventlog.live import live
from clusters.eventlog.store import default_log
from clusters.signals import figures
from clusters.signals.intake import MAX_BATCH, Received, product_of, signals_receive, source_of
from clusters.signals.model import Signal
from scheduling.services import policy_change, run_pass
from tests.support.lab import NAME, make_lab, report

pytestmark = pytest.mark.django_db

SOURCE = "signal:test"
XID = Signal(node="r1-n01", code="xid:79", kind=SignalKind.FATAL, check="kernel", component="gpu 1", id="b/1")
HOT = Signal(node="r1-n02", code="hot", kind=SignalKind.SOFT, check="heat", lasting=True)


@pytest.fixture(autouse=True)
def _cluster(db: None) -> None:
    make_lab()


def send(*signals: Signal, source: str = SOURCE) -> tuple[int, ...]:
    """new, repeated, unchanged, unknown."""
    done = signals_receive(cluster=NAME, source=source, signals=signals)
    assert done.received == len(signals)
    assert done.received == done.new + done.repeated + done.unchanged + done.unknown_nodes
    return done.new, done.repeated, done.unchanged, done.unknown_nodes


def logged() -> list[Event]:
    return [event for event in default_log().read(NAME) if isinstance(event.payload, SignalReceived)]


def test_a_signal_is_logged_once_however_often_it_comes() -> None:
    assert send(XID) == (1, 0, 0, 0)
    assert send(XID) == (0, 1, 0, 0)
    (event,) = logged()
    assert (event.source, event.source_id, event.subject) == (SOURCE, "b/1", "r1-n01")
    assert [heard.code for heard in live(NAME).catch_up().nodes["r1-n01"].signals] == ["xid:79"]


def test_the_same_twice_in_one_batch_is_logged_once() -> None:
    assert send(XID, XID, replace(XID, id="b/2"), HOT, HOT) == (2, 1, 2, 0)


def test_what_lasts_is_logged_when_it_begins_and_when_it_ends() -> None:
    well = replace(HOT, kind=SignalKind.RECOVERED)
    assert [send(signal) for signal in (well, HOT, HOT, well, well, HOT)] == [
        (0, 0, 1, 0),
        (1, 0, 0, 0),
        (0, 0, 1, 0),
        (1, 0, 0, 0),
        (0, 0, 1, 0),
        (1, 0, 0, 0),
    ]
    assert [heard.kind for heard in standing(live(NAME).catch_up().nodes["r1-n02"].signals)] == [SignalKind.SOFT]


def test_what_says_nothing_against_a_node_is_counted_only() -> None:
    before = figures.counted().get((NAME, "unchanged"), 0)
    assert send(replace(XID, kind=SignalKind.INFO, code="xid:63")) == (0, 0, 1, 0)
    assert logged() == []
    assert figures.counted()[NAME, "unchanged"] == before + 1


def test_nodes_that_nobody_knows_are_counted_and_named() -> None:
    done = signals_receive(cluster=NAME, source=SOURCE, signals=[replace(XID, node="r9-n01"), replace(XID, node="r9-n02", id="b/3"), XID])
    assert done == Received(received=3, new=1, unknown_nodes=2, named=("r9-n01", "r9-n02"))


def test_an_id_with_other_content_is_refused_and_nothing_of_the_batch_is_kept() -> None:
    send(XID)
    with pytest.raises(SourceConflict):
        send(HOT, replace(XID, code="xid:48"))
    assert len(logged()) == 1


def test_a_source_numbers_all_it_says_or_nothing() -> None:
    assert send(replace(XID, id="", seq=1), source="signal:numbered") == (1, 0, 0, 0)
    assert send(replace(XID, id="", seq=1), source="signal:numbered") == (0, 1, 0, 0)
    with pytest.raises(SourceSequence):
        send(replace(HOT, id=""), source="signal:numbered")


def test_a_number_decides_which_of_two_is_the_later_and_not_the_time() -> None:
    faulty = replace(HOT, seq=2, occurred_at=5)
    late = replace(HOT, kind=SignalKind.RECOVERED, seq=1, occurred_at=9)
    assert send(faulty, source="signal:n") == (1, 0, 0, 0)
    assert send(late, source="signal:n") == (0, 0, 1, 0)
    assert len(standing(live(NAME).catch_up().nodes["r1-n02"].signals)) == 1


def test_nothing_happens_in_the_future() -> None:
    send(replace(XID, occurred_at=7 * 10**15), replace(HOT, occurred_at=10))
    clock = live(NAME).catch_up().clock
    first, second = logged()
    assert first.occurred_at <= first.recorded_at - clock.wall + clock.cluster_time
    assert second.occurred_at == clock.cluster_time, "the cluster's time begins with the cluster"


def test_more_than_one_append_holds_is_split() -> None:
    many = [replace(XID, id=f"b/{number}", component=f"gpu {number}") for number in range(MAX_BATCH + 5)]
    assert send(*many) == (len(many), 0, 0, 0)
    assert send(*many) == (0, len(many), 0, 0)


def test_sources_of_different_feeds_stay_apart() -> None:
    assert source_of("ada", "alertmanager") == "signal:ada/alertmanager"
    long = source_of("a" * 150, "x"), source_of("a" * 150, "y")
    assert long[0] != long[1]
    assert max(map(len, long)) <= MAX_SOURCE
    assert send(XID, source="signal:a") == send(XID, source="signal:b") == (1, 0, 0, 0)


def test_a_node_whose_fabric_is_its_own_shares_no_cause_with_others() -> None:
    report(NodeRegistered(node="hgx", rack="r1", domain="hgx", gpus=8))
    link = replace(XID, code="xid:74", scope=SignalScope.SHARED)
    assert send(replace(link, node="hgx"), replace(link, id="b/2")) == (2, 0, 0, 0)
    assert [event.payload.scope for event in logged() if isinstance(event.payload, SignalReceived)] == [
        SignalScope.NODE,
        SignalScope.SHARED,
    ]


def test_imex_that_is_not_ready_makes_the_node_suspect_until_it_is() -> None:
    down = Signal(node="r1-n01", code="imex", kind=SignalKind.SOFT, scope=SignalScope.SHARED, check="imex", lasting=True)
    send(down)
    run_pass(NAME)
    assert live(NAME).catch_up().nodes["r1-n01"].condition is Condition.SUSPECT
    policy = replace(live(NAME).catch_up().policy, recovery_quiet_s=0)
    policy_change(cluster=NAME, policy=policy, expected=1, by="ada", reason="at once")
    send(replace(down, kind=SignalKind.RECOVERED))
    run_pass(NAME)
    assert live(NAME).catch_up().nodes["r1-n01"].condition is Condition.HEALTHY


def test_an_unknown_cluster_is_told() -> None:
    with pytest.raises(UnknownCluster):
        signals_receive(cluster="nowhere", source=SOURCE, signals=[XID])


def test_the_product_is_known_where_all_nodes_have_the_same() -> None:
    assert product_of(NAME) == "GB200"
