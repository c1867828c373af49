"""Events as they are stored: every kind and version that ever was stays readable, and what is not known is not guessed."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import re
from typing import Any

import msgspec
import pytest

from clusters.domain.commands import RunPass
from clusters.domain.decision import DecisionRecord
from clusters.domain.errors import BrokenInvariant, InvalidRequest, UnknownEvent
from clusters.domain.events import PAYLOADS, Payload
from clusters.domain.health_events import NodeSuspected
from clusters.domain.job_events import JobSubmitted
from clusters.eventlog.codec import decode_other, decode_record, encode_payload, encode_record
from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.upcasters import UPCASTERS
from tests.contract.eventlog.samples import golden_file, sample_of
from tests.contract.eventlog.tampering import rewrite_last
from tests.contract.eventlog.toy import CLUSTER, create, fact, submit, suspicion

KINDS = sorted(PAYLOADS)
VERSIONS = [(kind, version) for kind in KINDS for version in range(1, PAYLOADS[kind].VERSION + 1)]
_PAST = re.compile(r"(ed|Held|Set|Absent|Swapped|Drained|Draining|Degraded|Unreachable|Lost|Lent|Freed|Reset|Tripped|Done)$")


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_is_a_frozen_fact_in_the_past_tense(kind: str) -> None:
    payload = PAYLOADS[kind]
    assert dataclasses.is_dataclass(payload)
    assert vars(payload)["__dataclass_params__"].frozen
    assert {parameter.kind for parameter in inspect.signature(payload).parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    assert "__slots__" in payload.__dict__
    assert _PAST.search(kind), f"{kind}: name it as what has happened"


@pytest.mark.parametrize(("kind", "version"), VERSIONS)
def test_the_golden_sample_of_each_kind_and_version_reads_as_it_must(kind: str, version: int) -> None:
    expected = sample_of(kind, version)
    assert expected is not None, f"tests/contract/eventlog/samples.py has no sample of {kind} version {version}"
    assert decode_other(kind, version, golden_file(kind, version).read_text(encoding="utf-8")) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_the_golden_sample_of_today_is_what_is_written(kind: str) -> None:
    version = PAYLOADS[kind].VERSION
    sample = sample_of(kind, version)
    assert sample is not None
    assert json.loads(encode_payload(sample)) == json.loads(golden_file(kind, version).read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_sets_every_field_to_other_than_its_default(kind: str) -> None:
    sample = sample_of(kind, PAYLOADS[kind].VERSION)
    assert sample is not None
    plain = [field.name for field in dataclasses.fields(sample) if getattr(sample, field.name) == field.default]
    assert plain == []


def test_every_version_but_the_last_has_an_upcaster() -> None:
    assert set(UPCASTERS) == {(kind, version) for kind, version in VERSIONS if version < PAYLOADS[kind].VERSION}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_stored_and_read_back(database_log: DatabaseLog, kind: str) -> None:
    sample = sample_of(kind, PAYLOADS[kind].VERSION)
    assert sample is not None
    create(database_log)
    with database_log._store.writing(CLUSTER) as writer:
        (event,) = database_log.read(CLUSTER, 7)
        writer.add([event._replace(seq=9, kind=kind, version=sample.VERSION, payload=sample, source_id="sample")])
    (read,) = database_log.read(CLUSTER, 8)
    assert (read.kind, read.payload) == (kind, sample)


def test_r14_an_old_version_is_read_as_one_of_today(database_log: DatabaseLog) -> None:
    create(database_log)
    submit(database_log, "a")
    rewrite_last("JobSubmitted", 1, golden_file("JobSubmitted", 1).read_text(encoding="utf-8"))
    (event,) = database_log.read(CLUSTER, 8)
    assert (event.version, event.payload) == (JobSubmitted.VERSION, sample_of("JobSubmitted", 1))
    assert DatabaseLog().live(CLUSTER).catch_up().jobs["j000009"].request.name == "old"


@pytest.mark.parametrize(
    ("kind", "version", "told"),
    [("NodeSuspected", 2, "version 2"), ("NodeSuspected", 0, "version 0"), ("NodePainted", 1, "'NodePainted'")],
)
def test_r14_an_event_of_a_newer_program_stops_the_fold_but_not_the_intake(
    database_log: DatabaseLog, kind: str, version: int, told: str
) -> None:
    """R14: the state stays true to the position before it, and facts go on being stored."""
    create(database_log)
    live = database_log.live(CLUSTER)
    database_log.append_facts(CLUSTER, [suspicion(1)])
    live.catch_up()
    database_log.append_facts(CLUSTER, [suspicion(2)])
    rewrite_last(kind, version, '{"node": "r1-n1", "reason": "", "colour": "red"}')
    for _ in range(2):
        with pytest.raises(UnknownEvent, match=rf"event 10: .*{told}"):
            live.catch_up()
    assert live.state.seq == 9
    with pytest.raises(UnknownEvent):
        submit(database_log, "a")
    database_log.append_facts(CLUSTER, [suspicion(3)])
    assert database_log.head(CLUSTER) == 11
    assert [event.seq for event in database_log.read(CLUSTER, 10)] == [11]


@pytest.mark.parametrize("payload", ["{", '{"node": 5, "reason": ""}', '{"node": "r1-n1"}', "[]"])
def test_a_payload_that_is_not_what_its_kind_says_is_named(database_log: DatabaseLog, payload: str) -> None:
    create(database_log)
    database_log.append_facts(CLUSTER, [suspicion(1)])
    rewrite_last("NodeSuspected", 1, payload)
    with pytest.raises(BrokenInvariant, match=r"event 9 \(NodeSuspected\) cannot be read"):
        list(database_log.read(CLUSTER, 8))


def test_a_retry_is_known_again_after_its_kind_got_a_new_version(database_log: DatabaseLog) -> None:
    """The first was stored by an older program: what both say is compared, not how it was written."""
    create(database_log)
    payload = sample_of("JobSubmitted", 1)
    assert payload is not None
    database_log.append_facts(CLUSTER, [fact(payload, "a")])
    rewrite_last("JobSubmitted", 1, golden_file("JobSubmitted", 1).read_text(encoding="utf-8"))
    assert database_log.append_facts(CLUSTER, [fact(payload, "a")])[0].duplicate


def test_text_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="surrogates"):
        encode_payload(NodeSuspected(node="r1-n1", reason="\ud800"))


def test_a_record_of_a_command_of_a_newer_program_is_not_guessed() -> None:
    fields = {"at_seq": 1, "now": 1, "policy_version": 1, "engine_version": 9, "seed": 0, "solver": None, "more": False}
    with pytest.raises(UnknownEvent, match="'PaintNode'"):
        decode_record(msgspec.json.encode({"verb": "PaintNode", "command": {"node": "r1-n1"}, **fields}).decode())


def test_a_solvers_part_of_a_record_is_kept() -> None:
    solver: dict[str, float | str] = {"status": "optimal", "bound": 1.5}
    record = DecisionRecord(command=RunPass(), at_seq=5, now=7, policy_version=2, engine_version=3, seed=4, solver=solver, more=True)
    assert decode_record(encode_record(record)) == record


def test_payloads_cover_the_union() -> None:
    assert {cls.__name__ for cls in Payload.__args__} == set(PAYLOADS)


def changed(sample: Any, field: str, value: object) -> object:
    return dataclasses.replace(sample, **{field: value})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_cannot_say_never_gets_into_an_event(kind: str, number: float) -> None:
    sample = sample_of(kind, PAYLOADS[kind].VERSION)
    assert sample is not None
    for field in dataclasses.fields(sample):
        value = getattr(sample, field.name)
        if isinstance(value, float):
            with pytest.raises(InvalidRequest, match=field.name):
                changed(sample, field.name, number)
        elif isinstance(value, dict) and any(isinstance(entry, float) for entry in value.values()):
            with pytest.raises(InvalidRequest):
                changed(sample, field.name, dict.fromkeys(value, number))
