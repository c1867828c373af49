"""Changing a log past its rules, to see that it is noticed."""

from __future__ import annotations

from django.db import connection

from clusters.eventlog.maintenance import unlocked


def tamper(statement: str, *parameters: str | bytes | int) -> None:
    """Change one row."""
    with unlocked("test", "tampering"), connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        assert cursor.rowcount == 1


def rewrite_last(kind: str, version: int, payload: str) -> None:
    """Let the last event be one that another version of the program wrote."""
    tamper(
        "UPDATE clusters_logevent SET kind = %s, version = %s, payload = %s WHERE seq = (SELECT MAX(seq) FROM clusters_logevent)",
        kind,
        version,
        payload,
    )
