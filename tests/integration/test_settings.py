from __future__ import annotations

import pytest
from django.db import connection


@pytest.mark.django_db
def test_sqlite_is_durable_and_waits_for_its_writer() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL keeps its own promises")
    with connection.cursor() as cursor:
        found = {
            name: cursor.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "busy_timeout")
        }
    assert found == {"journal_mode": "wal", "synchronous": 2, "busy_timeout": 10_000}
    assert connection.transaction_mode == "IMMEDIATE"
