"""Facts that are delivered again: absorbed where they are the same, refused where they are not."""

from __future__ import annotations

import logging

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusters.domain.dump import dump_state
from clusters.domain.errors import SourceConflict
from clusters.domain.events import NewEvent
from clusters.domain.health_events import NodeRecovered, NodeSuspected
from clusters.eventlog.log import StoredLog
from clusters.eventlog.memory import MemoryLog
from clusters.eventlog.port import Receipt
from tests.contract.eventlog.conftest import WALL, Opener
from tests.contract.eventlog.toy import CLUSTER, create, inventory, opening, suspicion


def test_r03_a_repeated_fact_is_absorbed_and_its_first_place_returned(opener: Opener) -> None:
    """R03: also by another process, and in a batch with new ones."""
    log = opener()
    create(log)
    (first,) = log.append_facts(CLUSTER, [suspicion(1)])
    again = opener().append_facts(CLUSTER, [suspicion(2), suspicion(1), suspicion(3)])
    assert again == (Receipt(first.seq + 1, False), Receipt(first.seq, True), Receipt(first.seq + 2, False))
    assert log.append_facts(CLUSTER, [suspicion(2), suspicion(3)]) == (Receipt(first.seq + 1, True), Receipt(first.seq + 2, True))
    assert log.head(CLUSTER) == first.seq + 2


def test_a_fact_twice_in_one_batch_is_stored_once(toy: StoredLog) -> None:
    head = toy.head(CLUSTER)
    receipts = toy.append_facts(CLUSTER, [suspicion(1), suspicion(2), suspicion(1)])
    assert receipts == (Receipt(head + 1, False), Receipt(head + 2, False), Receipt(head + 1, True))


def test_a_retry_may_carry_another_correlation(toy: StoredLog) -> None:
    toy.append_facts(CLUSTER, [suspicion(1)._replace(correlation="first")])
    (receipt,) = toy.append_facts(CLUSTER, [suspicion(1)._replace(correlation="second")])
    assert receipt.duplicate
    assert next(toy.read(CLUSTER, receipt.seq - 1)).correlation == "first"


@pytest.mark.parametrize(
    "other",
    [
        suspicion(1)._replace(payload=NodeSuspected(node="r1-n1", reason="another")),
        suspicion(1)._replace(payload=NodeRecovered(node="r1-n1", reason="doubt 1")),
        suspicion(1)._replace(occurred_at=2),
        suspicion(1)._replace(causation=1),
    ],
    ids=["payload", "kind", "time", "cause"],
)
def test_r04_the_same_key_with_other_content_is_refused_and_logged(
    toy: StoredLog, caplog: pytest.LogCaptureFixture, other: NewEvent
) -> None:
    """R04: and nothing of its batch is stored."""
    toy.append_facts(CLUSTER, [suspicion(1)])
    head = toy.head(CLUSTER)
    with caplog.at_level(logging.WARNING, "slicekeeper.security"), pytest.raises(SourceConflict, match="'s1'"):
        toy.append_facts(CLUSTER, [suspicion(2), other])
    assert "'probe' sent 's1' again" in caplog.text
    assert toy.head(CLUSTER) == head
    assert toy.append_facts(CLUSTER, [suspicion(2)]) == (Receipt(head + 1, False),)


def test_r04_other_content_is_found_within_one_batch(toy: StoredLog) -> None:
    with pytest.raises(SourceConflict):
        toy.append_facts(CLUSTER, [suspicion(1), suspicion(1)._replace(occurred_at=9)])
    assert toy.head(CLUSTER) == 8


def test_sources_do_not_share_their_ids(toy: StoredLog) -> None:
    receipts = toy.append_facts(CLUSTER, [suspicion(1, source="a"), suspicion(1, source="b")])
    assert [receipt.duplicate for receipt in receipts] == [False, False]


_SENT = [suspicion(number, node=f"r1-n{number % 4 + 1}", source=f"probe{number % 3}")._replace(source_seq=number) for number in range(12)]


def _folded(deliveries: list[list[NewEvent]]) -> tuple[int, object]:
    log = MemoryLog(wall=lambda: WALL)
    log.create(CLUSTER, opening())
    log.append_facts(CLUSTER, inventory(1, 4))
    for batch in deliveries:
        log.append_facts(CLUSTER, batch)
    dump = dump_state(log.live(CLUSTER).catch_up())
    return int(dump["seq"]), dump["nodes"]


@given(st.lists(st.lists(st.sampled_from(_SENT), max_size=6), max_size=8))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_f05_f06_r17_facts_repeated_and_out_of_order_fold_to_the_same_state(batches: list[list[NewEvent]]) -> None:
    """F05, F06, R17: each delivered one to many times, in any order, in any batches."""
    assert _folded([*batches, _SENT]) == _folded([_SENT])
