"""What every connector promises. A new one is added to `engines.ENGINES` and has to pass all of this."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clusters.connectors.base import Slot, Work
from clusters.domain.events import NewEvent, Payload
from clusters.domain.health_events import NodeChecked
from clusters.domain.job_events import CheckpointReported, JobFailed, JobFinished, WorkStarted, WorkStopped
from tests.contract.connectors.engines import ENGINES, NODES, Engine
from tests.domain.fleet.stage import ask

WORK = Work(job="j000001", request=ask(2, run_s=36_000))
OTHER = Work(job="j000002", request=ask(2, run_s=36_000))


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    made: Engine = ENGINES[request.param]()
    yield made
    made.close()


class Reader:
    """Observes and acknowledges."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.cursor = ""

    def facts(self) -> list[Payload]:
        observed = self.engine.connector.observe(self.cursor)
        self.cursor = observed.cursor
        return [fact.payload for fact in observed.facts]


def slots(*nodes: str, first: int = 0) -> list[Slot]:
    return [Slot(slice=0, slot=first + number, node=node) for number, node in enumerate(nodes)]


def stopped(payloads: list[Payload]) -> list[str]:
    return sorted(node for payload in payloads if isinstance(payload, WorkStopped) for node in payload.nodes)


def started(payloads: list[Payload]) -> list[str]:
    return sorted(node for payload in payloads if isinstance(payload, WorkStarted) for node in payload.nodes)


@pytest.fixture
def running(engine: Engine) -> Reader:
    """Work of generation 1 runs on n0 and n1, and that was told."""
    reader = Reader(engine)
    engine.connector.start(WORK, 1, slots("n0", "n1"))
    engine.wait()
    assert started(reader.facts()) == ["n0", "n1"]
    return reader


def test_an_effect_returns_nothing_and_is_reported_by_facts_only(engine: Engine) -> None:
    reader = Reader(engine)
    engine.connector.start(WORK, 1, slots("n0", "n1"))
    assert reader.facts() == []
    engine.wait()
    facts = reader.facts()
    assert started(facts) == ["n0", "n1"]
    assert all(isinstance(fact, WorkStarted) and (fact.job, fact.generation) == (WORK.job, 1) for fact in facts)


def test_starting_twice_starts_once(running: Reader) -> None:
    running.engine.connector.start(WORK, 1, slots("n0", "n1"))
    running.engine.wait()
    assert running.facts() == []


def test_a_start_of_an_older_generation_is_ignored(running: Reader) -> None:
    running.engine.connector.start(WORK, 0, slots("n4", "n5"))
    running.engine.wait()
    assert running.facts() == []


def test_a_new_generation_starts_its_slots_and_leaves_the_others_alone(running: Reader) -> None:
    running.engine.connector.start(WORK, 2, slots("n2", first=1))
    running.engine.wait()
    assert running.facts() == [WorkStarted(job=WORK.job, generation=2, nodes=("n2",))]


def test_stopping_stops_these_nodes_only_and_twice_is_once(running: Reader) -> None:
    running.engine.connector.stop(WORK.job, 1, ["n1"])
    running.engine.connector.stop(WORK.job, 1, ["n1"])
    running.engine.wait()
    facts = running.facts()
    assert stopped(facts) == ["n1"]
    running.engine.connector.stop(WORK.job, 1, ["n1"])
    running.engine.wait()
    assert running.facts() == []
    assert running.engine.connector.look("n0").jobs == (WORK.job,)


def test_a_stop_of_an_older_generation_leaves_newer_work_alone(running: Reader) -> None:
    running.engine.connector.stop(WORK.job, 1, ["n1"])
    running.engine.wait()
    running.facts()
    running.engine.connector.start(WORK, 2, slots("n1", first=1))
    running.engine.wait()
    running.facts()
    running.engine.connector.stop(WORK.job, 1, ["n1"])
    running.engine.wait()
    assert running.facts() == []


def test_stopping_what_is_not_there_does_nothing(engine: Engine) -> None:
    reader = Reader(engine)
    engine.connector.stop("j999999", 1, ["n0"])
    engine.connector.stop(WORK.job, 1, ["nowhere"])
    engine.wait()
    assert reader.facts() == []


def test_work_that_ends_by_itself_is_told_ended_before_it_is_told_stopped(running: Reader) -> None:
    running.engine.finish(WORK.job)
    facts = running.facts()
    assert isinstance(facts[0], JobFinished | JobFailed)
    assert stopped(facts[1:]) == ["n0", "n1"]
    assert running.engine.connector.look("n0").jobs == ()


def test_work_on_a_node_that_dies_is_told_stopped_there(running: Reader) -> None:
    running.engine.kill("n1")
    running.engine.wait()
    assert stopped(running.facts()) == ["n1"]
    assert not running.engine.connector.look("n1").up


def test_jobs_do_not_get_in_each_others_way(running: Reader) -> None:
    running.engine.connector.start(OTHER, 1, slots("n2", "n3"))
    running.engine.wait()
    assert started(running.facts()) == ["n2", "n3"]
    running.engine.connector.stop(OTHER.job, 1, ["n0", "n1", "n2", "n3"])
    running.engine.wait()
    assert stopped(running.facts()) == ["n2", "n3"]


def test_facts_are_given_again_until_they_are_acknowledged_with_the_same_ids(engine: Engine) -> None:
    engine.connector.start(WORK, 1, slots("n0", "n1"))
    engine.wait()
    once, again = engine.connector.observe(""), engine.connector.observe("")
    assert once == again
    assert engine.connector.observe(once.cursor).facts == ()
    assert len({fact.source_id for fact in once.facts}) == len(once.facts)


def test_ids_tell_what_happened_apart(running: Reader) -> None:
    engine = running.engine
    seen: list[NewEvent] = []
    cursor = running.cursor
    for generation in (2, 3, 4):
        engine.connector.start(WORK, generation, slots("n2", first=1))
        engine.wait()
        engine.connector.stop(WORK.job, generation, ["n2"])
        engine.wait()
        observed = engine.connector.observe(cursor)
        cursor = observed.cursor
        seen += observed.facts
    assert len(seen) == 6
    assert len({fact.source_id for fact in seen}) == 6


def test_a_cordon_shows_and_is_idempotent(engine: Engine) -> None:
    if not engine.connector.capabilities().cordon:
        pytest.skip("this engine cannot cordon")
    for _ in range(2):
        engine.connector.cordon("n0")
    assert engine.connector.look("n0").cordoned
    assert not engine.connector.look("n1").cordoned
    for _ in range(2):
        engine.connector.uncordon("n0")
    assert not engine.connector.look("n0").cordoned


def test_a_look_tells_known_nodes_from_others(engine: Engine) -> None:
    assert all(engine.connector.look(node).up for node in NODES)
    nowhere = engine.connector.look("nowhere")
    assert not nowhere.known
    assert not nowhere.up


def test_asking_for_a_checkpoint_harms_nothing_whether_or_not_the_engine_can(running: Reader) -> None:
    running.engine.connector.checkpoint(WORK.job)
    running.engine.connector.checkpoint("j999999")
    running.engine.wait()
    told = running.facts()
    can = running.engine.connector.capabilities().checkpoint
    assert [(type(fact), fact.job) for fact in told if isinstance(fact, CheckpointReported)] == [(CheckpointReported, WORK.job)] * can
    assert len(told) == can


def checked(payloads: list[Payload]) -> list[tuple[str, int, bool]]:
    return [(fact.node, fact.number, fact.passed) for fact in payloads if isinstance(fact, NodeChecked)]


def test_a_check_of_a_sound_node_passes_and_says_what_was_looked_at(engine: Engine) -> None:
    reader = Reader(engine)
    if not engine.connector.capabilities().check:
        engine.connector.check("n0", 1)
        engine.wait()
        assert reader.facts() == []
        return
    engine.connector.check("n0", 1)
    assert checked(reader.facts()) == []
    engine.wait()
    facts = reader.facts()
    assert checked(facts) == [("n0", 1, True)]
    assert all(isinstance(fact, NodeChecked) and fact.detail for fact in facts)


def test_a_check_of_a_node_that_a_repair_left_broken_fails(engine: Engine) -> None:
    broken = engine.botch()
    reader = Reader(engine)
    reader.facts()
    engine.connector.check(broken, 1)
    engine.wait()
    assert checked(reader.facts()) == [(broken, 1, False)] * engine.connector.capabilities().check


def test_a_check_asked_for_again_is_answered_once_and_a_later_one_anew(engine: Engine) -> None:
    reader = Reader(engine)
    can = engine.connector.capabilities().check
    for number in (1, 1, 2, 1):
        engine.connector.check("n0", number)
    engine.wait()
    assert [asked for _, asked, _ in checked(reader.facts())][-1:] == [2] * can
    engine.connector.check("n0", 2)
    engine.wait()
    assert checked(reader.facts()) == []
    engine.connector.check("n0", 3)
    engine.wait()
    assert checked(reader.facts()) == [("n0", 3, True)] * can


def test_a_check_of_a_node_that_is_not_there_or_dead_does_nothing(engine: Engine) -> None:
    reader = Reader(engine)
    engine.kill("n1")
    engine.wait()
    reader.facts()
    engine.connector.check("nowhere", 1)
    engine.connector.check("n1", 1)
    engine.wait()
    assert checked(reader.facts()) == []


def test_a_node_that_dies_while_it_is_checked_does_not_pass(engine: Engine) -> None:
    reader = Reader(engine)
    engine.connector.check(engine.endless(), 1)
    engine.kill(engine.endless())
    engine.wait()
    assert checked(reader.facts()) == []
