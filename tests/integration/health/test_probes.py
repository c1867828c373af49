"""What orchestrators are told: by address, without a login, and without dragging this process down with its neighbours."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from django.test import Client
from pytest_django import Settings

from clusters.domain.ids import SECOND
from clusters.eventlog.log import wall_now
from config import probes, readiness, requests
from config.readiness import Check, Readiness, hub_check, look_at_database, part_check
from tasks import heartbeat
from tasks.heartbeat import MOST_AGE, PARTS, beat, last_beats
from tasks.models import Heartbeat


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known of the migrations yet, and of the heartbeats of this process."""
    monkeypatch.setattr(readiness, "_migrated", threading.Event())
    monkeypatch.setattr(heartbeat, "_noted", {})


def answer_with(monkeypatch: pytest.MonkeyPatch, *checks: Check) -> None:
    monkeypatch.setattr(probes, "readiness", Readiness(lambda: checks))


def test_alive_asks_no_database_no_host_name_no_login_and_no_https(client: Client, settings: Settings) -> None:
    """Without the mark for it, a test that touched the database would fail."""
    settings.SECURE_SSL_REDIRECT = True
    answer = client.get("/healthz", headers={"host": "10.1.2.3:8000"})
    assert (answer.status_code, answer.json()["alive"]) == (200, True)
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_probes_only_read(client: Client, path: str) -> None:
    answer = client.post(path)
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")


def test_ready_needs_what_it_cannot_do_without_and_only_that(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    good = Check(name="database", ok=True)
    answer_with(monkeypatch, good, Check(name="pass", ok=False, needed=False, reason="no worker"))
    told = client.get("/readyz")
    assert told.status_code == 200
    assert told.json() == {
        "ready": True,
        "reasons": [],
        "warnings": ["no worker"],
        "checks": {"database": True, "pass": False, "hub": True},
    }
    answer_with(monkeypatch, good, Check(name="migrations", ok=False, reason="2 are missing"))
    told = client.get("/readyz")
    assert told.status_code == 503
    assert told.json()["reasons"] == ["2 are missing"]


def test_a_database_that_hangs_is_told_and_costs_one_thread(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    go, looks = threading.Event(), []

    def look() -> tuple[Check, ...]:
        looks.append(threading.get_ident())
        go.wait(30)
        return (Check(name="database", ok=True),)

    monkeypatch.setattr(probes, "readiness", Readiness(look, patience=0.05))
    for _ in range(3):
        told = client.get("/readyz")
        assert told.status_code == 503
        assert "has not answered within 0.05 s" in told.json()["reasons"][0]
    assert len(looks) == 1
    go.set()


@pytest.mark.django_db(transaction=True)
def test_the_database_tells_of_its_tables_and_of_the_other_parts(unchecked: None) -> None:
    checks = {check.name: check for check in look_at_database()}
    assert list(checks) == ["database", "migrations", *PARTS]
    assert checks["database"].ok
    assert checks["migrations"].ok
    assert not any(checks[part].ok or checks[part].needed for part in PARTS)
    for part in PARTS:
        beat(part)
    Heartbeat.objects.filter(part="slow").update(at=wall_now() - int(2 * MOST_AGE) * SECOND)
    checks = {check.name: check for check in look_at_database()}
    assert [checks[part].ok for part in PARTS] == [True, False, True]
    assert "70 s ago" in checks["slow"].reason


@pytest.mark.django_db
def test_missing_tables_are_named_until_they_are_there(unchecked: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'tasks' AND name = '0001_heartbeats'")
    check = readiness.migrations_check()
    assert not check.ok
    assert "tasks.0001_heartbeats" in check.reason
    assert "manage.py migrate" in check.reason


@pytest.mark.django_db(transaction=True)
def test_a_database_that_refuses_is_told_in_one_line(unchecked: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Any:
        raise DatabaseError("connection refused\n\tis it running?")

    monkeypatch.setattr(readiness, "last_beats", refuse)
    (check,) = look_at_database()
    assert (check.ok, check.needed) == (False, True)
    assert check.reason == "the database cannot be used: connection refused"


def test_a_hub_that_reads_nothing_any_more_is_told() -> None:
    assert hub_check(0.3).ok
    assert "60 s" in hub_check(60.0).reason


@pytest.mark.parametrize(("age", "ok"), [(0.0, True), (MOST_AGE, True), (MOST_AGE + 1, False), (None, False)])
def test_a_part_counts_as_gone_after_a_while(age: float | None, ok: bool) -> None:
    check = part_check("pass", age)
    assert check.ok is ok
    assert bool(check.reason) is not ok


@pytest.mark.django_db
def test_a_heartbeat_is_written_now_and_then_only(unchecked: None, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("tasks.heartbeat.time", SimpleNamespace(monotonic=lambda: now))
    beat("pass")
    Heartbeat.objects.update(at=1)
    beat("pass")
    assert last_beats() == {"pass": 1}
    now += heartbeat.NOTED_EVERY
    beat("pass")
    assert last_beats()["pass"] > 1


@pytest.mark.django_db
def test_the_command_fails_where_a_part_is_gone(unchecked: None, capsys: pytest.CaptureFixture[str]) -> None:
    beat("pass")
    call_command("heartbeats", "pass")
    assert "pass: 0 s ago" in capsys.readouterr().out
    with pytest.raises(CommandError, match="slow, tail"):
        call_command("heartbeats")
    with pytest.raises(CommandError, match="no part 'web'"):
        call_command("heartbeats", "web")


def test_probes_are_not_counted_as_requests(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    monkeypatch.setattr(requests, "count_request", lambda route, *_: counted.append(route))
    client.get("/healthz")
    assert counted == []
    client.get("/nowhere/at/all")
    assert len(counted) == 1
