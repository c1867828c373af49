"""R08: the database itself refuses to change a log; one audited function may."""

from __future__ import annotations

import logging

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, models, transaction

from clusters.domain.errors import ClusterExists, InvalidRequest, UnknownCluster
from clusters.eventlog import models as tables
from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.maintenance import remove_cluster, unlocked
from clusters.eventlog.models import LogEvent, MaintenanceEntry, ReadOnlyError, ReadOnlyModel
from clusters.eventlog.projections import project
from tests.contract.eventlog.toy import CLUSTER, create, opening, run_pass, submit, suspicion

READ_ONLY = sorted((model for model in ReadOnlyModel.__subclasses__()), key=lambda model: model.__name__)

CHANGES = [
    "UPDATE clusters_logevent SET occurred_at = 0",
    "UPDATE clusters_logevent SET payload = payload WHERE seq = 1",
    "DELETE FROM clusters_logevent WHERE seq = 3",
    "UPDATE clusters_logdecision SET count = 2",
    "DELETE FROM clusters_logdecision",
]


def execute(statement: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def filled() -> DatabaseLog:
    log = DatabaseLog()
    create(log)
    submit(log, "a")
    return log


@pytest.mark.parametrize("statement", CHANGES)
@pytest.mark.django_db
def test_r08_a_log_cannot_be_changed(statement: str) -> None:
    log = filled()
    before = list(log.read(CLUSTER)), list(log.decisions(CLUSTER))
    with pytest.raises(DatabaseError, match="append-only"):
        execute(statement)
    assert (list(log.read(CLUSTER)), list(log.decisions(CLUSTER))) == before


@pytest.mark.parametrize("table", ["clusters_logevent", "clusters_logdecision", "clusters_logdecision, clusters_logevent"])
@pytest.mark.django_db
def test_r08_a_log_cannot_be_truncated(table: str) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no TRUNCATE")
    filled()
    with pytest.raises(DatabaseError, match="append-only"):
        execute(f"TRUNCATE {table}")


@pytest.mark.parametrize("statement", CHANGES)
@pytest.mark.django_db
def test_unlocked_a_log_can_be_changed_and_the_audit_says_by_whom(statement: str, caplog: pytest.LogCaptureFixture) -> None:
    filled()
    with caplog.at_level(logging.WARNING, "slicekeeper.audit"), unlocked("ada", "repair of ticket 7"):
        execute(statement)
    assert "unlocked by 'ada': repair of ticket 7" in caplog.text
    assert [(entry.by, entry.reason, entry.open) for entry in MaintenanceEntry.objects.all()] == [("ada", "repair of ticket 7", False)]
    with pytest.raises(DatabaseError, match="append-only"):
        execute("UPDATE clusters_logevent SET occurred_at = 0")


@pytest.mark.django_db
def test_an_unlocked_change_that_fails_leaves_the_log_locked() -> None:
    filled()

    def fail() -> None:
        with unlocked("ada", "oops"):
            execute("DELETE FROM clusters_logdecision")
            execute("DELETE FROM no_such_table")

    with pytest.raises(DatabaseError, match="no_such_table"):
        fail()
    assert len(list(DatabaseLog().decisions(CLUSTER))) == 1
    with pytest.raises(DatabaseError, match="append-only"):
        execute("DELETE FROM clusters_logdecision")


@pytest.mark.parametrize(("by", "reason"), [("", "why"), ("who", " ")])
@pytest.mark.django_db
def test_nobody_unlocks_without_a_name_and_a_reason(by: str, reason: str) -> None:
    with pytest.raises(InvalidRequest, match=r"by|reason"), unlocked(by, reason):
        pass


@pytest.mark.django_db
def test_a_removed_cluster_is_gone_and_its_name_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusters.eventlog.maintenance.CHUNK", 3)
    log = filled()
    create(log, cluster="other")
    run_pass(log)
    log.save_snapshot(CLUSTER, log.live(CLUSTER).catch_up())
    project(CLUSTER)
    project("other")
    remove_cluster(CLUSTER, "ada", "sold")
    assert log.clusters() == ("other",)
    with pytest.raises(UnknownCluster):
        log.append_facts(CLUSTER, [suspicion(1)])
    with connection.cursor() as cursor:
        for model in READ_ONLY:
            if hasattr(model, "cluster"):
                cursor.execute(f"SELECT * FROM {model._meta.db_table} WHERE cluster_id NOT IN (SELECT id FROM clusters_cluster)")
                assert cursor.fetchall() == []
    assert log.head("other") == 8
    assert [entry.open for entry in MaintenanceEntry.objects.all()] == [False]
    create(log)
    assert log.live(CLUSTER).catch_up().jobs == {}
    with pytest.raises(UnknownCluster):
        remove_cluster("none", "ada", "sold")


@pytest.mark.django_db
def test_a_removal_that_was_interrupted_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    log = filled()
    monkeypatch.setattr("clusters.eventlog.maintenance._TABLES", ("no_such_table",))
    with pytest.raises(DatabaseError):
        remove_cluster(CLUSTER, "ada", "sold")
    monkeypatch.undo()
    assert log.clusters() == ()
    with pytest.raises(ClusterExists):
        log.create(CLUSTER, opening())
    remove_cluster(CLUSTER, "ada", "sold")
    log.create(CLUSTER, opening())


@pytest.mark.django_db(transaction=True)
def test_flush_empties_a_database_that_holds_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that commit for real rely on it."""
    log = filled()
    monkeypatch.setattr("builtins.input", lambda _: "no")
    call_command("flush", interactive=True)
    assert log.head(CLUSTER) == 9
    call_command("flush", interactive=False)
    assert log.clusters() == ()
    assert LogEvent.objects.count() == 0
    create(log)
    with pytest.raises(DatabaseError, match="append-only"):
        execute("DELETE FROM clusters_logevent")


@pytest.mark.parametrize("model", READ_ONLY, ids=lambda model: model.__name__)
def test_the_tables_are_read_only_for_django(model: type[ReadOnlyModel]) -> None:
    row = model()
    for refused in (
        row.save,
        row.delete,
        model.objects.create,
        model.objects.all().update,
        model.objects.all().delete,
        lambda: model.objects.bulk_create([row]),
    ):
        with pytest.raises(ReadOnlyError):
            refused()


def test_all_tables_of_the_log_are_read_only() -> None:
    defined = {model for model in vars(tables).values() if isinstance(model, type) and issubclass(model, models.Model)}
    assert defined - {ReadOnlyModel} == set(READ_ONLY)


@pytest.mark.parametrize("model", READ_ONLY, ids=lambda model: model.__name__)
def test_constraints_and_indexes_are_named(model: type[ReadOnlyModel]) -> None:
    for named in (*model._meta.constraints, *model._meta.indexes):
        assert named.name.startswith(("log_", "gpu_claim_", "job_record_", "projection_"))
