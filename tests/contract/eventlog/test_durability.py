"""R01 and R38 hang on how the database is opened: what the settings say must be what a connection does."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.job_records import JobRecords
from clusters.eventlog.projector import Projector
from tests.contract.eventlog.toy import CLUSTER, create, submit, suspicion

pytestmark = pytest.mark.django_db(transaction=True)

SYNCHRONOUS_NORMAL, SYNCHRONOUS_FULL = 1, 2


def _value(statement: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0]


def test_r01_a_commit_is_on_the_disk_before_it_is_acknowledged() -> None:
    if connection.vendor == "sqlite":
        assert (_value("PRAGMA journal_mode"), _value("PRAGMA synchronous")) == ("wal", SYNCHRONOUS_FULL)
    else:
        assert (_value("SHOW synchronous_commit"), _value("SHOW fsync")) == ("on", "on")


def test_r01_lists_that_the_log_can_make_again_do_not_wait_for_the_disk_and_appends_do_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    log = DatabaseLog()
    create(log)
    asked = "PRAGMA synchronous" if connection.vendor == "sqlite" else "SHOW synchronous_commit"
    before, seen = _value(asked), []
    monkeypatch.setattr(JobRecords, "write", lambda *_: seen.append(_value(asked)))
    projector = Projector(log, JobRecords())
    assert not projector.project(CLUSTER)
    assert seen == ([SYNCHRONOUS_NORMAL] if connection.vendor == "sqlite" else ["off"])
    assert _value(asked) == before

    def fail(*_: object) -> None:
        raise RuntimeError("no room")

    monkeypatch.setattr(JobRecords, "write", fail)
    submit(log, "a")
    with pytest.raises(RuntimeError, match="no room"):
        projector.project(CLUSTER)
    assert _value(asked) == before


def test_r38_a_write_transaction_begins_as_one_and_waits_for_others() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("the lock of SQLite's one writer")
    assert int(str(_value("PRAGMA busy_timeout"))) >= 5_000
    assert connection.settings_dict["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


def test_r01_nothing_is_acknowledged_inside_a_longer_transaction() -> None:
    """What is around the append could still be rolled back: it is refused, and nothing is stored."""
    log = DatabaseLog()
    create(log)
    with transaction.atomic():
        for append in (lambda: log.append_facts(CLUSTER, [suspicion(1)]), lambda: submit(log, "a"), lambda: create(log, cluster="b")):
            with pytest.raises(RuntimeError, match="durable"):
                append()
    assert (log.head(CLUSTER), log.clusters()) == (8, (CLUSTER,))
