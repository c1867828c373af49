"""Decisions that others get in the way of: what is appended meanwhile is decided on, and of rivals one takes effect."""

from __future__ import annotations

import threading

import pytest
from django.db import connections

from clusters.domain.commands import Command
from clusters.domain.decision import Decision, Refusal
from clusters.domain.ids import Instant
from clusters.domain.state import ClusterState
from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.log import StoredLog
from clusters.eventlog.memory import MemoryLog
from clusters.eventlog.port import Committed
from tests.contract.eventlog.conftest import Opener
from tests.contract.eventlog.test_decisions import cancel
from tests.contract.eventlog.toy import CLUSTER, create, decide, run_pass, submission, submit


def test_what_is_appended_while_deciding_is_decided_on(opener: Opener) -> None:
    """Another process moves the head after the state was read: the decision is made again on all of it."""
    log, other = opener(), opener()
    create(log)
    job = submit(log, "a", nodes=3)
    seen: list[int] = []

    def interrupted(state: ClusterState, command: Command, now: Instant) -> Decision | Refusal:
        if not seen:
            run_pass(other)
        seen.append(state.seq)
        return decide(state, command, now)

    done = log.commit(CLUSTER, cancel(job, "b"), interrupted)
    assert isinstance(done, Committed)
    assert (seen, [event.kind for event in done.events]) == ([9, 10], ["StopRequested"])
    assert [record.at_seq for _, _, record in log.decisions(CLUSTER)] == [8, 9, 10]


def test_the_same_request_committed_elsewhere_while_deciding_is_found(opener: Opener) -> None:
    log, other = opener(), opener()
    create(log)
    seen: list[int] = []

    def interrupted(state: ClusterState, command: Command, now: Instant) -> Decision | Refusal:
        seen.append(state.seq)
        other.commit(CLUSTER, submission("a"), decide)
        return decide(state, command, now)

    done = log.commit(CLUSTER, submission("a"), interrupted)
    assert isinstance(done, Committed)
    assert (done.duplicate, seen, log.head(CLUSTER)) == (True, [8], 9)


def test_r05_a_command_overtaken_by_another_is_refused(opener: Opener) -> None:
    """R05: of two cancellations of one job, one takes effect."""
    log, other = opener(), opener()
    create(log)
    job = submit(log, "a")

    def overtaken(state: ClusterState, command: Command, now: Instant) -> Decision | Refusal:
        if job in state.jobs:
            other.commit(CLUSTER, cancel(job, "first"), decide)
        return decide(state, command, now)

    assert isinstance(log.commit(CLUSTER, cancel(job, "second"), overtaken), Refusal)
    assert [event.kind for event in log.about(CLUSTER, job)] == ["JobSubmitted", "JobCancelled"]


@pytest.mark.django_db(transaction=True)
def test_r05_r22_threads_that_share_a_live_state_take_turns() -> None:
    """Of eight threads that cancel the same job one succeeds, and eight passes at once place each job once."""
    for log in (MemoryLog(), DatabaseLog()):
        create(log, nodes=8)
        job = submit(log, "victim")
        jobs = [submit(log, f"job{number}") for number in range(6)]
        outcomes: list[Committed | Refusal] = []

        def work(number: int, log: StoredLog = log, job: str = job, outcomes: list[Committed | Refusal] = outcomes) -> None:
            outcomes.append(log.commit(CLUSTER, cancel(job, f"c{number}"), decide))
            run_pass(log)
            connections.close_all()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(isinstance(outcome, Committed) for outcome in outcomes) == 1
        placed = [event.subject for event in log.read(CLUSTER) if event.kind == "JobPlaced"]
        assert sorted(placed) == jobs
        assert [event.seq for event in log.read(CLUSTER)] == list(range(1, log.head(CLUSTER) + 1))
