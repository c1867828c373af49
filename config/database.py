"""One database URL to Django's connection settings.

`sqlite:///relative.sqlite3`, `sqlite:////absolute.sqlite3`, or `postgres://USER:PASSWORD@HOST:PORT/NAME?pool=10&sslmode=require`
(an empty host means the local socket).
"""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.db import connections

#: How long a writer waits for another one; write transactions are kept below 20 ms, so this is never met in health.
SQLITE_BUSY_SECONDS = 10

#: Durable before acknowledged: WAL alone syncs only at checkpoints unless synchronous is FULL.
SQLITE_PRAGMAS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL"

#: Connections a web process holds at most. Workers and runners keep one for each thread instead (`keep_connections`).
DEFAULT_POOL = 10

#: Seconds that a request waits for a connection, or for the server to answer one: then it fails, and says so.
CONNECT_SECONDS = 5

#: A writer that hangs inside a transaction would hold its cluster's lock: the server ends it.
POSTGRES_OPTIONS = "-c idle_in_transaction_session_timeout=30000"

FORMS = "sqlite:///PATH or postgres://USER:PASSWORD@HOST:PORT/NAME"
SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")


class DatabaseUrlError(ValueError):
    """A database URL that cannot be used, with what would be right."""

    def __init__(self, message: str, hint: str = f"Write {FORMS}.") -> None:
        super().__init__(message)
        self.hint = hint


def connection_settings(url: str) -> dict[str, object]:
    """Return the settings of the connection that the URL names."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # parsed, and refused, only when asked for
    except ValueError as error:
        raise DatabaseUrlError(f"cannot be read as a URL ({error}).") from None
    if parts.scheme == "sqlite":
        return _sqlite(parts)
    if parts.scheme in {"postgres", "postgresql"}:
        return _postgres(parts)
    raise DatabaseUrlError(f"the scheme {parts.scheme!r} is not a database that works here.")


def _sqlite(parts: SplitResult) -> dict[str, object]:
    path = unquote(parts.path.removeprefix("/"))
    if parts.netloc or not path or parts.query:
        raise DatabaseUrlError(
            f"a SQLite URL holds a path and nothing else; this one has {parts.netloc or parts.query or 'no path'!r}.",
            "Write sqlite:///relative/path or sqlite:////absolute/path.",
        )
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": SQLITE_BUSY_SECONDS,
            "init_command": SQLITE_PRAGMAS,
        },
    }


def _postgres(parts: SplitResult) -> dict[str, object]:
    name = unquote(parts.path.removeprefix("/"))
    if not name or "/" in name:
        raise DatabaseUrlError("a PostgreSQL URL ends in one database name.")
    options: dict[str, object] = {"options": POSTGRES_OPTIONS, "connect_timeout": CONNECT_SECONDS}
    size = DEFAULT_POOL
    for key, value in parse_qsl(parts.query, keep_blank_values=True):
        if key == "pool" and value.isascii() and value.isdigit():
            size = int(value)
        elif key == "sslmode" and value in SSL_MODES:
            options["sslmode"] = value
        else:
            raise DatabaseUrlError(
                f"the option {key}={value!r} is not known.",
                f"Options are pool=NUMBER (0: no pool) and sslmode={'|'.join(SSL_MODES)}.",
            )
    if size:
        # The pool tries to connect for so long and no longer: then requests do. By itself it would pause for as long as the database has
        # been away before it tried again.
        options["pool"] = {"min_size": 1, "max_size": size, "timeout": CONNECT_SECONDS, "reconnect_timeout": CONNECT_SECONDS}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": options,
    }


def keep_connections() -> None:
    """Let each thread of this process keep a connection of its own, checked before it is used again after a pause.

    For workers and runners. A pool does not survive a fork, and threads that never give their connection back would use one up; without
    either, each task would connect anew.
    """
    connections.close_all()
    for alias in connections:
        connection = connections[alias]
        if connection.vendor == "postgresql":
            if "pool" in connection.settings_dict["OPTIONS"]:
                cast(Any, connection).close_pool()
                del connection.settings_dict["OPTIONS"]["pool"]
            connection.settings_dict["CONN_MAX_AGE"] = None
