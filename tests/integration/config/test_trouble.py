"""A database that lets a command down is told in a sentence, whatever command it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.db import DataError, IntegrityError, InterfaceError, OperationalError, ProgrammingError

from config.trouble import database_trouble

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OperationalError("no such table: clusters_cluster"), "lacks tables of this version"),
        (ProgrammingError('relation "auth_user" does not exist\nLINE 1: ...'), "Run `python manage.py migrate`"),
        (OperationalError('table "auth_user" already exists'), "at the same time"),
        (ProgrammingError('relation "auth_user" already exists\n'), "at the same time"),
        (OperationalError("attempt to write a readonly database"), "the room on its disk"),
        (OperationalError("database or disk is full"), "the room on its disk"),
        (OperationalError("database is locked"), "kept busy by another program"),
        (OperationalError("couldn't get a connection after 5.00 sec"), "does not answer"),
        (InterfaceError("connection already closed"), "does not answer"),
    ],
)
def test_trouble_outside_the_program_says_what_to_do(error: Exception, told: str) -> None:
    said = database_trouble(error)
    assert said is not None
    assert told in said
    assert "\n" not in said


@pytest.mark.parametrize("error", [ProgrammingError("syntax error"), IntegrityError("x"), DataError("x"), ValueError("x")])
def test_faults_of_the_program_keep_their_traceback(error: Exception) -> None:
    assert database_trouble(error) is None


def test_it_names_the_server_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    server = {**settings.DATABASES["default"], "HOST": "db.example", "PORT": "", "NAME": "sk", "PASSWORD": "hunter2"}
    monkeypatch.setitem(settings.DATABASES, "default", server)
    said = database_trouble(OperationalError("gone"))
    assert said is not None
    assert "sk at db.example:5432" in said
    assert "hunter2" not in said


COMMANDS = {
    "login_link": (),
    "load_demo": (),
    "replay": ("--cluster", "x"),
    "export_cluster": ("--name", "x"),
    "create_simulated": ("x", "--racks", "1"),
}

#: Runs each command as `manage.py` does, in one process; prints what each said when it gave up.
ALL_COMMANDS = f"""
import json, sys, manage
told = {{}}
for name, arguments in {COMMANDS}.items():
    sys.argv = ["manage.py", name, *arguments]
    try:
        manage.main()
    except SystemExit as end:
        told[name] = end.code
print(json.dumps(told))
"""


def test_any_command_on_an_empty_database_says_that_it_is_to_be_migrated(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SLICEKEEPER_")}
    done = subprocess.run(
        [sys.executable, "-c", ALL_COMMANDS],
        cwd=ROOT,
        env={**environ, "SLICEKEEPER_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told.keys() == COMMANDS.keys()
    assert all("Run `python manage.py migrate`" in said for said in told.values()), told
