"""Decisions: made on the head, committed once, with what they used and what they claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from clusters.domain.commands import CancelJob, Command, MarkNode, NodeVerb, RunPass, SubmitJob
from clusters.domain.decision import ENGINE_VERSION, Decision, DecisionRecord, Refusal
from clusters.domain.dump import dump_state
from clusters.domain.errors import BrokenInvariant, InvalidRequest, SourceConflict, SourceSequence, UnknownCluster
from clusters.domain.evolve import evolve
from clusters.domain.ids import Instant
from clusters.domain.inventory_events import ClockSet
from clusters.domain.job_events import JobPlaced, JobSubmitted, SliceAssignment
from clusters.domain.state import ClusterState
from clusters.eventlog.log import StoredLog
from clusters.eventlog.port import Committed
from clusters.eventlog.request import Request
from clusters.eventlog.storage import Writer
from tests.contract.eventlog.conftest import WALL, Opener
from tests.contract.eventlog.toy import CLUSTER, always, ask, create, decide, fact, placing, run_pass, submission, submit, suspicion


def cancel(job: str, request_id: str) -> Request:
    return Request(command=CancelJob(job=job, by="ada"), source="user:ada", request_id=request_id)


def test_a_decision_and_its_record_stand_in_the_log(toy: StoredLog) -> None:
    """R24, R25: the record says what the decision read and used."""
    head = toy.head(CLUSTER)
    done = toy.commit(CLUSTER, submission("a"), decide)
    assert isinstance(done, Committed)
    assert (done.duplicate, done.more, done.events) == (False, False, tuple(toy.read(CLUSTER, head)))
    (event,) = done.events
    assert (event.source, event.source_id, event.occurred_at, event.recorded_at) == ("user:ada", "a", WALL, WALL)
    record = DecisionRecord(command=submission("a").command, at_seq=head, now=WALL, policy_version=1, engine_version=ENGINE_VERSION)
    assert list(toy.decisions(CLUSTER)) == [(head + 1, 1, record)]


def test_records_of_every_command_come_back_as_they_were(toy: StoredLog) -> None:
    job = submit(toy, "a", nodes=2)
    run_pass(toy)
    toy.commit(CLUSTER, cancel(job, "b"), decide)
    mark = MarkNode(node="r1-n4", verb=NodeVerb.FAIL, by="ada", reason="smoke")
    toy.commit(CLUSTER, Request(command=mark, source="user:ada", request_id="c"), decide)
    commands = [record.command for _, _, record in toy.decisions(CLUSTER)]
    assert commands == [SubmitJob(request=ask(2), by="ada"), RunPass(), CancelJob(job=job, by="ada"), mark]
    assert [first for first, _, _ in toy.decisions(CLUSTER, 10)] == [11, 12]


def test_the_events_of_a_decision_have_ids_that_follow_from_the_request(toy: StoredLog) -> None:
    payloads = (JobSubmitted(request=ask(), submitted_by=""),) * 3
    for request_id, ids in (("a", ["a", "a/1", "a/2"]), (None, ["@12", "@12/1", "@12/2"])):
        done = toy.commit(CLUSTER, submission(request_id), always(*payloads))
        assert isinstance(done, Committed)
        assert [event.source_id for event in done.events] == ids


def test_correlation_cause_and_time_of_the_request_are_kept(toy: StoredLog) -> None:
    request = Request(command=RunPass(), source="scheduler", request_id=None, now=77, correlation="web-1", causation=3)
    done = toy.commit(CLUSTER, request, always(JobSubmitted(request=ask(), submitted_by="")))
    assert isinstance(done, Committed)
    assert (done.events[0].correlation, done.events[0].causation, done.events[0].occurred_at) == ("web-1", 3, 77)


def test_the_clusters_clock_says_when_unless_the_request_does(toy: StoredLog) -> None:
    toy.append_facts(CLUSTER, [fact(ClockSet(wall=WALL - 10, cluster_time=1_000, speed=2.0), "clock")])
    seen: list[Instant] = []

    def look(state: ClusterState, command: Command, now: Instant) -> Refusal:
        seen.append(now)
        return Refusal(code="state")

    toy.commit(CLUSTER, submission("a"), look)
    assert seen == [1_020]


def test_a_refusal_stores_nothing_and_is_decided_anew(toy: StoredLog) -> None:
    head = toy.head(CLUSTER)
    assert isinstance(toy.commit(CLUSTER, cancel("j000009", "a"), decide), Refusal)
    assert (toy.head(CLUSTER), list(toy.decisions(CLUSTER))) == (head, [])
    assert submit(toy, "b") == "j000009"
    assert isinstance(toy.commit(CLUSTER, cancel("j000009", "a"), decide), Committed)


def test_a_decision_without_events_appends_nothing(toy: StoredLog) -> None:
    heard: list[str] = []
    toy.subscribe(heard.append)
    head = toy.head(CLUSTER)
    assert run_pass(toy) == ()
    assert (toy.head(CLUSTER), list(toy.decisions(CLUSTER)), heard) == (head, [], [])


def test_r03_the_same_request_again_gets_the_decision_of_the_first_time(opener: Opener) -> None:
    log = opener()
    create(log)
    done = log.commit(CLUSTER, submission("a"), always(*(JobSubmitted(request=ask(), submitted_by=""),) * 2))
    submit(log, "b")
    for each in (log, opener()):
        again = each.commit(CLUSTER, submission("a"), decide)
        assert isinstance(done, Committed)
        assert again == Committed(events=done.events, more=done.more, duplicate=True)
    assert log.head(CLUSTER) == 11


def test_r04_a_request_id_used_for_another_command_is_refused(toy: StoredLog) -> None:
    submit(toy, "a")
    with pytest.raises(SourceConflict, match="'a'"):
        toy.commit(CLUSTER, submission("a", name="other"), decide)
    with pytest.raises(SourceConflict, match="'a'"):
        toy.commit(CLUSTER, cancel("j000009", "a"), decide)
    toy.append_facts(CLUSTER, [suspicion(1, source="user:ada")])
    with pytest.raises(SourceConflict, match="'s1'"):
        toy.commit(CLUSTER, submission("s1"), decide)
    assert toy.head(CLUSTER) == 10


def test_an_id_that_is_a_number_gets_in_nobodys_way(toy: StoredLog) -> None:
    for request_id in ("10", None, "12", None, "11"):
        done = toy.commit(CLUSTER, submission(request_id, name=f"job {request_id}"), decide)
        assert isinstance(done, Committed)
        assert not done.duplicate


def test_an_id_that_a_later_event_of_the_decision_needs_may_be_taken(toy: StoredLog) -> None:
    toy.append_facts(CLUSTER, [suspicion(1, source="user:ada")._replace(source_id="a/1")])
    before = dump_state(toy.live(CLUSTER).catch_up())
    with pytest.raises(SourceConflict, match="'a'"):
        toy.commit(CLUSTER, submission("a"), always(*(JobSubmitted(request=ask(), submitted_by=""),) * 2))
    assert (toy.head(CLUSTER), dump_state(toy.live(CLUSTER).catch_up())) == (9, before)


def test_a_source_that_numbers_its_facts_commits_nothing(toy: StoredLog) -> None:
    toy.append_facts(CLUSTER, [suspicion(1, source="user:ada")._replace(source_seq=1)])
    with pytest.raises(SourceSequence, match="'user:ada'"):
        toy.commit(CLUSTER, submission("a"), decide)


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (submission("x" * 121), "request_id"),
        (submission(""), "request_id"),
        (submission("@12"), "request_id"),
        (Request(command=RunPass(), source="", request_id=None), "source"),
        (Request(command=RunPass(), source="s", request_id=None, correlation="\n"), "correlation"),
    ],
)
def test_a_request_that_its_events_could_not_carry_is_refused_by_name(toy: StoredLog, request_: Request, field: str) -> None:
    with pytest.raises(InvalidRequest, match=field):
        toy.commit(CLUSTER, request_, decide)


def test_a_command_for_an_unknown_cluster_is_refused(log: StoredLog) -> None:
    with pytest.raises(UnknownCluster):
        log.commit("none", submission("a"), decide)


@pytest.mark.parametrize(
    "broken",
    [
        lambda job: (placing(job, "r1-n2"), placing(job, "r1-n3")),
        lambda job: (placing(job, "r1-n2", generation=5),),
        lambda job: (JobPlaced(job=job, generation=1, slices=(SliceAssignment(domain="d9", nodes=("r1-n2",)),)),),
    ],
    ids=["placed twice", "wrong generation", "wrong domain"],
)
def test_r25_what_contradicts_the_state_never_enters_the_log(toy: StoredLog, broken: Callable[[str], tuple[JobPlaced, ...]]) -> None:
    """R25: decision, events and claims are one transaction, and the fold is part of it."""
    job = submit(toy, "a")
    before = dump_state(toy.live(CLUSTER).catch_up())
    with pytest.raises(BrokenInvariant, match=job):
        toy.commit(CLUSTER, submission("wrong"), always(*broken(job)))
    assert (toy.head(CLUSTER), toy.claims(CLUSTER), len(list(toy.decisions(CLUSTER)))) == (9, {}, 1)
    assert dump_state(toy.live(CLUSTER).catch_up()) == before
    assert [event.kind for event in run_pass(toy)] == ["JobPlaced"]


def test_a_commit_that_fails_at_its_very_end_leaves_the_live_state_true(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """The events were folded when the disk was full: the state is made anew, though the head has passed its position meanwhile."""
    log, other = opener(), opener()
    create(log)
    writing = log._store.writing

    @contextmanager
    def full(cluster: str) -> Iterator[Writer]:
        with writing(cluster) as writer:
            yield writer
            raise OSError("disk full")

    monkeypatch.setattr(log._store, "writing", full)
    with pytest.raises(OSError, match="disk full"):
        submit(log, "a")
    monkeypatch.undo()
    assert log.head(CLUSTER) == 8
    other.append_facts(CLUSTER, [suspicion(1), suspicion(2)])
    state = log.live(CLUSTER).catch_up()
    assert dump_state(state) == dump_state(other.live(CLUSTER).catch_up())
    assert (state.seq, state.jobs) == (10, {})


def test_r24_each_decision_made_again_on_its_state_comes_to_the_same_events(toy: StoredLog) -> None:
    for number in range(6):
        submit(toy, f"a{number}", nodes=1 + number % 2)
        run_pass(toy)
    state = ClusterState()
    events = list(toy.read(CLUSTER))
    remade = 0
    for first, count, record in toy.decisions(CLUSTER):
        for event in events[state.seq : first - 1]:
            evolve(state, event)
        outcome = decide(state, record.command, record.now)
        assert isinstance(outcome, Decision)
        assert outcome.events == tuple(event.payload for event in events[first - 1 : first - 1 + count])
        remade += 1
    assert remade >= 9


def test_r25_subscribers_hear_of_a_decision_once_it_stands(toy: StoredLog) -> None:
    heard: list[int] = []
    toy.subscribe(lambda cluster: heard.append(toy.head(cluster)))
    submit(toy, "a")
    submit(toy, "a")
    toy.commit(CLUSTER, cancel("j000099", "x"), decide)
    assert heard == [9]
