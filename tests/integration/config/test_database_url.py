from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from config.database import DatabaseUrlError, connection_settings


def read(url: str) -> dict[str, Any]:
    return connection_settings(url)


def test_sqlite_takes_an_absolute_and_a_relative_path() -> None:
    assert read("sqlite:////srv/a%20b.sqlite3")["NAME"] == "/srv/a b.sqlite3"
    assert read("sqlite:///b.sqlite3")["NAME"] == "b.sqlite3"


def test_postgres_takes_everything_apart_and_decodes_it() -> None:
    found = read("postgres://me:p%40ss@db.example:6543/fleet?sslmode=require&pool=4")
    assert [found[key] for key in ("USER", "PASSWORD", "HOST", "PORT", "NAME")] == [
        "me",
        "p@ss",
        "db.example",
        "6543",
        "fleet",
    ]
    assert found["OPTIONS"]["sslmode"] == "require"
    assert found["OPTIONS"]["pool"] == {"min_size": 1, "max_size": 4, "timeout": 5, "reconnect_timeout": 5}
    assert found["OPTIONS"]["connect_timeout"] == 5


def test_postgres_without_a_host_uses_the_socket_and_pool_0_means_no_pool() -> None:
    found = read("postgresql:///fleet?pool=0")
    assert (found["HOST"], found["PORT"], found["USER"]) == ("", "", "")
    assert "pool" not in found["OPTIONS"]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "fleet",
        "mysql://localhost/fleet",
        "sqlite://",
        "sqlite:///",
        "sqlite://relative.sqlite3",
        "sqlite:///a.sqlite3?mode=ro",
        "postgres://localhost",
        "postgres://localhost/a/b",
        "postgres://localhost:port/a",
        "postgres://localhost/a?pool=many",
        "postgres://localhost/a?sslmode=perhaps",
        "postgres://localhost/a?timeout=3",
    ],
)
def test_what_cannot_be_used_is_refused_with_what_would_be_right(url: str) -> None:
    with pytest.raises(DatabaseUrlError) as caught:
        read(url)
    assert str(caught.value)
    assert caught.value.hint


@pytest.mark.django_db
@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="says what SQLite is set to")
def test_sqlite_is_durable_waits_for_its_writer_and_locks_at_the_start() -> None:
    with connection.cursor() as cursor:
        found = [cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "busy_timeout")]
    assert found == ["wal", 2, 10_000]
    assert connection.settings_dict["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


@pytest.mark.django_db
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="says what PostgreSQL is set to")
def test_postgres_ends_a_writer_that_hangs() -> None:
    with connection.cursor() as cursor:
        cursor.execute("show idle_in_transaction_session_timeout")
        assert cursor.fetchone() == ("30s",)
        cursor.execute("show synchronous_commit")
        assert cursor.fetchone() == ("on",)
