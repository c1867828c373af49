"""Which commands may begin an installation; every other one leaves a directory alone in which there is none.

A command that made an empty database wherever SLICEKEEPER_DATA_DIR points would hide that it points to the wrong place.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError

from config.env import DATA_DIR, Environment
from config.secret import SECRET_FILE

#: makemigrations compares with whatever database there is, and needs one to be quiet.
BEGINS = frozenset({"migrate", "load_demo", "serve", "runserver", "makemigrations"})


def missing_database(environment: Environment) -> Path | None:
    """The SQLite file that is not there yet; None where there is one, or another kind of database."""
    found = environment.databases.get("default", {})
    path = Path(str(found.get("NAME", "")))
    return path if str(found.get("ENGINE", "")).endswith("sqlite3") and not path.exists() else None


def first_run_trouble(error: BaseException, environment: Environment) -> str | None:
    """What to tell whoever ran a command where nothing has begun yet; None where that is not the trouble."""
    lacking = missing_database(environment) if isinstance(error, OperationalError) else None
    if isinstance(error, ImproperlyConfigured) and "SECRET_KEY" in str(error) and not environment.secret_key:
        lacking = environment.data_dir / SECRET_FILE
    if lacking is None:
        return None
    return f"There is no {str(lacking)!r}. Is {DATA_DIR} right? To begin anew there, run `python manage.py migrate`."


def make_no_database(environment: Environment) -> None:
    """Let no connection make the file that is missing. Before any is opened."""
    if path := missing_database(environment):
        settings.DATABASES["default"]["NAME"] = f"file:{quote(str(path))}?mode=rw"
