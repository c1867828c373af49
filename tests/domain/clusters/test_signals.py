"""The window of signals that a node remembers: bounded, each source by itself, and what is taken back is over."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.dump import dump_state, load_state
from clusters.domain.health import SCHEDULER
from clusters.domain.health_events import NodeRecovered
from clusters.domain.signal_events import SignalReceived
from clusters.domain.signals import MAX_HEARD, SAME_OCCURRENCE, Heard, SignalKind, SignalScope, changes, remember, standing
from tests.domain.clusters.logs import cluster

XID = SignalReceived(node="r1-n1", code="xid:79", kind=SignalKind.FATAL, scope=SignalScope.NODE, check="kernel", component="gpu 1")
NOT_READY = replace(XID, code="kubernetes:Ready", check="ready", component="", lasting=True)


def back(of: SignalReceived) -> SignalReceived:
    return replace(of, code="", kind=SignalKind.RECOVERED)


def heard(seq: int, payload: SignalReceived = XID, source: str = "a", at: int = 0) -> Heard:
    return Heard(
        seq, at, at, source, payload.code, payload.kind, payload.scope, payload.check, payload.component, "", "", lasting=payload.lasting
    )


def test_a_node_remembers_what_was_said_of_it_and_a_dump_keeps_it() -> None:
    log = cluster(racks=1).add(XID, at=5, source="kernel").add(replace(XID, node="nobody"), source="kernel")
    (kept,) = log.sound().nodes["r1-n1"].signals
    assert (kept.source, kept.at, kept.code, kept.kind) == ("kernel", 5, "xid:79", SignalKind.FATAL)
    twin = load_state(dump_state(log.state))
    assert twin.nodes["r1-n1"].signals == [kept]
    assert dump_state(twin) == dump_state(log.state)


def test_a_recovery_ends_what_its_own_source_said_of_the_same_check_and_component() -> None:
    other_gpu = replace(XID, component="gpu 2")
    window = [heard(1), heard(2, source="b"), heard(3, other_gpu), heard(4, NOT_READY), heard(5, back(XID), at=9)]
    assert [known.seq for known in standing(window)] == [2, 3, 4]
    assert [known.seq for known in standing([*window, heard(6, replace(back(XID), component=""), at=10)])] == [2, 4]


def test_a_recovery_that_is_older_than_the_fault_ends_nothing() -> None:
    assert [known.seq for known in standing([heard(1, at=10), heard(2, back(XID), at=5)])] == [1]


def test_the_latest_word_of_a_source_on_a_lasting_state_is_the_one_that_stands() -> None:
    unknown = replace(NOT_READY, kind=SignalKind.UNREACHABLE)
    assert [known.seq for known in standing([heard(1, NOT_READY), heard(2, unknown, at=3)])] == [2]


def test_what_changes_nothing_is_known_as_such() -> None:
    window = [heard(1, at=100), heard(2, NOT_READY)]
    assert not changes([], heard(0, replace(XID, kind=SignalKind.INFO)))
    assert not changes([], heard(0, back(XID))), "nothing stands that could be taken back"
    assert changes(window, heard(0, back(XID), at=200))
    assert not changes(window, heard(0, back(XID), at=50)), "it is older than what it would take back"
    assert not changes(window, heard(0, NOT_READY, at=500)), "it holds still"
    assert changes(window, heard(0, NOT_READY, source="b")), "another source may say so too"
    assert not changes(window, heard(0, at=100 + SAME_OCCURRENCE - 1)), "one fault, printed again"
    assert changes(window, heard(0, at=100 + SAME_OCCURRENCE))
    assert changes(window, heard(0, replace(XID, component="gpu 2"), at=100))
    assert changes([*window, heard(3, back(NOT_READY), at=5)], heard(0, NOT_READY, at=9)), "it came back"


def test_a_storm_does_not_push_out_what_lasts_and_stands() -> None:
    window: list[Heard] = []
    over = replace(NOT_READY, component="gpu 9")
    for seq, payload in enumerate([NOT_READY, over, back(over), *[XID] * (2 * MAX_HEARD)], start=1):
        remember(window, heard(seq, payload, at=seq))
    assert [known.seq for known in window][:2] == [1, 2 * MAX_HEARD + 3 - MAX_HEARD + 2]
    for seq in range(100, 100 + 2 * MAX_HEARD):
        remember(window, heard(seq, replace(NOT_READY, component=f"gpu {seq}"), at=seq))
    assert len(window) == MAX_HEARD


def test_a_word_of_before_a_recovery_changes_nothing_although_it_comes_when_the_verdict_was_taken_back() -> None:
    log = cluster(racks=1).add(NOT_READY, source="probe", source_seq=1).add(XID, source="probe", source_seq=2)
    log.add(back(NOT_READY), source="probe", source_seq=5).add(back(XID), source="probe", source_seq=6)
    log.add(NodeRecovered(node="r1-n1", reason="quiet"), source=SCHEDULER)
    node = log.sound().nodes["r1-n1"]
    assert not log.state.watched, "recoveries alone give verdicts nothing to look at"
    log.add(NOT_READY, source="probe", source_seq=4).add(XID, source="probe", source_seq=3)
    assert standing(node.signals) == []
    log.sound()
    log.add(NOT_READY, source="probe", source_seq=7)
    assert [known.rank for known in standing(node.signals)] == [7]
    assert log.sound().watched == {"r1-n1"}


@given(st.lists(st.sampled_from("aaaaabc"), max_size=90))
def test_no_source_pushes_out_the_last_words_of_another(sources: list[str]) -> None:
    window: list[Heard] = []
    for seq, source in enumerate(sources):
        remember(window, heard(seq, source=source))
    assert len(window) == min(len(sources), MAX_HEARD)
    assert [known.seq for known in window] == sorted(known.seq for known in window)
    said, kept = Counter(sources), Counter(known.source for known in window)
    for source, count in said.items():
        assert kept[source] >= min(count, MAX_HEARD // len(said)), source


@given(st.lists(st.sampled_from([XID, NOT_READY, back(XID), back(NOT_READY), replace(back(XID), check="other")]), max_size=3 * MAX_HEARD))
def test_verdicts_watch_a_node_as_long_as_it_remembers_anything_against_it(said: list[SignalReceived]) -> None:
    log = cluster(racks=1, nodes=1)
    for at, payload in enumerate(said):
        log.add(payload, at=at * SAME_OCCURRENCE)
        log.sound()


SAID = st.builds(
    lambda kind, component, lasting, source, at: (replace(XID, kind=kind, component=component, lasting=lasting), source, at),
    st.sampled_from([SignalKind.FATAL, SignalKind.SOFT, SignalKind.RECOVERED]),
    st.sampled_from(["", "gpu 1", "gpu 2"]),
    st.booleans(),
    st.sampled_from("ab"),
    st.integers(0, 5),
)


@given(st.lists(SAID, max_size=12))
def test_what_stands_is_what_nothing_later_of_its_source_ends(said: list[tuple[SignalReceived, str, int]]) -> None:
    window = [heard(seq, payload, source, at) for seq, (payload, source, at) in enumerate(said)]

    def ends(later: Heard, known: Heard) -> bool:
        if later.source != known.source or (later.at, later.seq) <= (known.at, known.seq):
            return False
        if later.kind is SignalKind.RECOVERED:
            return later.component in ("", known.component)
        return later.lasting and known.lasting and later.component == known.component

    expected = [known for known in window if known.kind is not SignalKind.RECOVERED and not any(ends(later, known) for later in window)]
    assert standing(window) == expected


@given(st.lists(SAID, max_size=12), SAID)
def test_a_signal_changes_something_where_nothing_that_stands_says_as_much(said: list[tuple[SignalReceived, str, int]], next_: Any) -> None:
    window = [heard(seq, payload, source, at) for seq, (payload, source, at) in enumerate(said)]
    payload, source, at = next_
    new = heard(len(window), payload, source, at)
    mine = [known for known in standing(window) if known.source == source]
    if new.kind is SignalKind.RECOVERED:
        assert changes(window, new) == any(new.component in ("", known.component) and new.order > known.order for known in mine)
    elif new.lasting:
        same = [known for known in mine if known.lasting and (known.kind, known.component) == (new.kind, new.component)]
        assert changes(window, new) == (not same)
