"""Projections: rows and position move together, twice is once, and a rebuild grows beside what is read."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from clusters.domain.commands import CancelJob
from clusters.domain.errors import UnknownEvent
from clusters.domain.ids import SECOND
from clusters.domain.job_events import JobFailed, JobFinished, WorkStarted
from clusters.domain.jobs import TERMINAL, JobKind, JobState
from clusters.eventlog import projector
from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.job_records import JobRecords, job_records
from clusters.eventlog.maintenance import remove_cluster
from clusters.eventlog.models import JobRecord, ProjectionPosition
from clusters.eventlog.projections import project, rebuild
from clusters.eventlog.projector import Projector
from clusters.eventlog.request import Request
from tests.contract.eventlog.tampering import rewrite_last
from tests.contract.eventlog.toy import CLUSTER, create, decide, fact, run_pass, stopped, submit, suspicion

pytestmark = pytest.mark.django_db


def rows() -> list[dict[str, Any]]:
    return [dict(row) for row in job_records(CLUSTER).values().order_by("seq")]


def contents() -> list[dict[str, Any]]:
    """The rows without the build they belong to."""
    return [{name: value for name, value in row.items() if name != "build"} for row in rows()]


def position() -> tuple[int, int]:
    place = ProjectionPosition.objects.get(cluster__name=CLUSTER, name=JobRecords.name, live=True)
    return place.build, place.seq


def busy() -> DatabaseLog:
    """Jobs that wait, run, were cancelled, finished and failed; times are the numbers of the requests."""
    log = DatabaseLog(wall=lambda: 5 * SECOND)
    create(log)
    jobs = [submit(log, f"job{number}") for number in range(6)]
    for _ in range(4):
        run_pass(log)
    log.append_facts(
        CLUSTER,
        [
            fact(WorkStarted(job=jobs[0], generation=1, nodes=("r1-n1",)), "w0", at=7 * SECOND),
            fact(WorkStarted(job=jobs[1], generation=1, nodes=("r1-n2",)), "w1", at=8 * SECOND),
            fact(JobFinished(job=jobs[0], generation=1), "f0", at=9 * SECOND),
            stopped(jobs[0], ["r1-n1"], "s0"),
            stopped(jobs[1], ["r1-n2"], "s1"),
            fact(JobFailed(job=jobs[1], generation=1, reason="exit 1"), "f1", at=11 * SECOND),
        ],
    )
    log.commit(CLUSTER, Request(command=CancelJob(job=jobs[5], by="ada", reason="no need"), source="user:ada", request_id="c"), decide)
    return log


def test_records_say_what_became_of_each_job() -> None:
    busy()
    while project(CLUSTER):
        pass
    told = [(row["job"], row["state"], row["started_at"], row["ended_at"], row["wait_s"], row["reason"]) for row in rows()]
    assert told == [
        ("j000009", "finished", 7 * SECOND, 9 * SECOND, 0.0, ""),
        ("j000010", "failed", 8 * SECOND, 11 * SECOND, 0.0, "exit 1"),
        ("j000011", "placed", None, None, 0.0, ""),
        ("j000012", "placed", None, None, 0.0, ""),
        ("j000013", "submitted", None, None, None, ""),
        ("j000014", "cancelled", None, 5 * SECOND, None, "no need"),
    ]


def test_records_agree_with_the_live_state() -> None:
    log = busy()
    while project(CLUSTER, 3):
        pass
    records = {row["job"]: row for row in rows()}
    for job in log.live(CLUSTER).catch_up().jobs.values():
        record = records.pop(job.id)
        assert (record["state"], record["generation"], record["priority"]) == (job.state, job.generation, job.priority)
        assert (record["submitted_at"], record["placed_at"]) == (job.submitted_at, job.placed_at)
    assert {row["state"] for row in records.values()} <= TERMINAL


def test_records_are_found_by_state_kind_and_team() -> None:
    busy()
    while project(CLUSTER):
        pass
    assert [record.job for record in job_records(CLUSTER)] == [f"j{seq:06d}" for seq in range(14, 8, -1)]
    ended = job_records(CLUSTER, states=[JobState.FINISHED, JobState.FAILED], kinds=[JobKind.TRAINING], teams=[""])
    assert [record.job for record in ended] == ["j000010", "j000009"]
    assert not job_records(CLUSTER, teams=["vision"]).exists()
    assert not job_records("none").exists()


def test_a_budget_is_kept_and_says_whether_there_is_more() -> None:
    log = busy()
    head = log.head(CLUSTER)
    assert project(CLUSTER, 10)
    assert position() == (1, 10)
    assert [row["job"] for row in rows()] == ["j000009", "j000010"]
    assert not project(CLUSTER, 500)
    assert position() == (1, head)
    assert not project(CLUSTER)


def test_r15_rows_and_position_are_stored_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """R15: a crash between the two leaves neither; and the next run does it all."""
    busy()
    project(CLUSTER, 9)
    before = rows(), position()

    def crash(*arguments: Any) -> None:
        written(*arguments)
        raise KeyboardInterrupt

    written = JobRecords.write
    monkeypatch.setattr(JobRecords, "write", crash)
    with pytest.raises(KeyboardInterrupt):
        project(CLUSTER)
    assert (rows(), position()) == before
    monkeypatch.undo()
    while project(CLUSTER):
        pass
    expected = contents()
    rebuild(CLUSTER)
    assert contents() == expected


def test_r16_applying_events_twice_is_the_same_as_once() -> None:
    """R16: even where the position was set back and the rows were not."""
    log = busy()
    while project(CLUSTER):
        pass
    once = rows()
    for back in range(0, log.head(CLUSTER), 3):
        with connection.cursor() as cursor:
            cursor.execute("UPDATE clusters_projectionposition SET seq = %s", (back,))
        while Projector(log, JobRecords()).project(CLUSTER, 4):
            pass
        assert rows() == once


def test_two_processes_that_project_do_not_disturb_each_other() -> None:
    log = busy()
    first, second = (Projector(log, JobRecords()) for _ in range(2))
    first.project(CLUSTER, 9)
    second.project(CLUSTER, 5)
    assert position() == (1, 14)
    first.project(CLUSTER, 2)
    while second.project(CLUSTER, 3):
        pass
    assert position() == (1, log.head(CLUSTER))
    expected = contents()
    first.rebuild(CLUSTER)
    assert contents() == expected


def test_whoever_finds_the_position_moved_drops_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    log = busy()
    first, second = (Projector(log, JobRecords()) for _ in range(2))
    fold = JobRecords.fold
    theirs: list[list[dict[str, Any]]] = []

    def slow(self: JobRecords, state: Any, event: Any, found: Any) -> None:
        if not theirs:
            theirs.append([])  # the second one folds too
            second.project(CLUSTER)
            theirs.append(rows())
        fold(self, state, event, found)

    monkeypatch.setattr(JobRecords, "fold", slow)
    assert first.project(CLUSTER, 18)  # what it knows is older than what the second one has written
    assert (position(), rows()) == ((1, log.head(CLUSTER)), theirs[1])
    assert not first.project(CLUSTER)
    assert rows() == theirs[1]


def test_an_event_of_a_newer_program_stops_the_projection_before_it() -> None:
    """R14 for projections: what stands before it is shown."""
    log = busy()
    log.append_facts(CLUSTER, [suspicion(1)])
    rewrite_last("NodePainted", 1, "{}")
    for _ in range(2):
        with pytest.raises(UnknownEvent, match="'NodePainted'"):
            project(CLUSTER)
        assert position() == (1, log.head(CLUSTER) - 1)
    assert len(rows()) == 6


def test_a_rebuild_takes_the_place_of_the_rows_at_once_and_leaves_none_behind() -> None:
    log = busy()
    while project(CLUSTER):
        pass
    before = contents()
    rebuild(CLUSTER)
    assert (contents(), position()) == (before, (2, log.head(CLUSTER)))
    assert JobRecord.objects.count() == len(before)
    assert ProjectionPosition.objects.filter(name=JobRecords.name).count() == 1
    submit(log, "later")
    assert not project(CLUSTER)
    assert len(rows()) == len(before) + 1


def test_what_is_read_stays_while_a_rebuild_grows_and_after_one_that_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    busy()
    while project(CLUSTER):
        pass
    before = rows()
    fold = JobRecords.fold
    seen: list[list[dict[str, Any]]] = []

    def interrupted(self: JobRecords, state: Any, event: Any, found: Any) -> None:
        seen.append(rows())
        if event.seq == 20:
            raise KeyboardInterrupt
        fold(self, state, event, found)

    monkeypatch.setattr(projector, "CHUNK", 5)
    monkeypatch.setattr(JobRecords, "fold", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rebuild(CLUSTER)
    assert seen == [before] * 20
    monkeypatch.undo()
    assert not project(CLUSTER)
    rebuild(CLUSTER)
    assert JobRecord.objects.count() == len(before)
    assert ProjectionPosition.objects.filter(name=JobRecords.name).count() == 1


def test_a_projection_of_a_cluster_that_was_made_anew_begins_anew() -> None:
    busy()
    while project(CLUSTER):
        pass
    remove_cluster(CLUSTER, "test", "again")
    log = DatabaseLog()
    create(log)
    submit(log, "only")
    while project(CLUSTER):
        pass
    assert len(rows()) == 1


class Batches(TestCase):
    """Whatever the budgets, the rows are the same."""

    @given(st.lists(st.integers(1, 9), max_size=6))
    @settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
    def test_budgets_do_not_matter(self, budgets: list[int]) -> None:
        log = busy()
        one = Projector(log, JobRecords())
        for budget in budgets:
            one.project(CLUSTER, budget)
        while one.project(CLUSTER, 100):
            pass
        found = contents()
        log.append_facts(CLUSTER, [suspicion(99)])
        one.rebuild(CLUSTER)
        assert contents() == found
