"""What a command says when the database lets it down: one sentence with what to do, instead of a traceback.

Only for trouble outside the program. What a wrong statement or a broken constraint raises is a fault of ours, and keeps its traceback.
"""

from __future__ import annotations

from django.conf import settings
from django.db import InterfaceError, OperationalError, ProgrammingError

from config.env import DATABASE_URL

#: How SQLite and PostgreSQL begin to say that a table or a column is missing.
_MISSING = ("no such table", "no such column", "relation ", "column ")

#: How both say that a table is there already: two programs migrate at once.
_TWICE = "already exists"

#: How SQLite says that the file or the disk is the trouble, not the server.
_FILE = ("readonly", "disk is full", "disk i/o", "unable to open", "malformed", "not a database")


def database_trouble(error: BaseException) -> str | None:
    """What to tell the user; None where it is no trouble with the database."""
    if not isinstance(error, OperationalError | InterfaceError | ProgrammingError):
        return None
    said = str(error).strip().partition("\n")[0]
    if said.endswith(_TWICE):
        return f"The database {_where()} was brought up to date by another program at the same time ({said}). Try again."
    if said.startswith(_MISSING):
        return f"The database {_where()} lacks tables of this version ({said}). Run `python manage.py migrate`, then try again."
    if isinstance(error, ProgrammingError):
        return None
    if any(words in said.lower() for words in _FILE):
        return f"The database {_where()} cannot be used: {said}. Look at the file, its directory, and the room on its disk."
    if "locked" in said:
        return f"The database {_where()} is kept busy by another program: {said}. Try again; stop that program if it hangs."
    return f"The database {_where()} does not answer: {said}. Start it, or put {DATABASE_URL} right."


def _where() -> str:
    """Where the database is; nothing secret."""
    options = settings.DATABASES.get("default", {})
    host, name = options.get("HOST"), options.get("NAME", "")
    return f"{name} at {host}:{options.get('PORT') or 5432}" if host else str(name)
