"""A database that lets a command down is told in a sentence, whatever command it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DataError, IntegrityError, InterfaceError, OperationalError, ProgrammingError

from config.first_run import BEGINS, first_run_trouble
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
ALL_COMMANDS = """
import json, sys, manage
told = {}
for name, arguments in json.loads(sys.argv[1]).items():
    sys.argv = ["manage.py", name, *arguments]
    try:
        manage.main()
    except SystemExit as end:
        told[name] = end.code
print(json.dumps(told))
"""


def told_by_commands(data_dir: Path, commands: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """What each of the commands said when it gave up."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SLICEKEEPER_")}
    done = subprocess.run(
        [sys.executable, "-c", ALL_COMMANDS, json.dumps(commands)],
        cwd=ROOT,
        env={**environ, "SLICEKEEPER_DATA_DIR": str(data_dir)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    told: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    assert told.keys() == commands.keys()
    return told


def test_any_command_on_an_empty_database_says_that_it_is_to_be_migrated(tmp_path: Path) -> None:
    (tmp_path / "slicekeeper.sqlite3").touch()
    told = told_by_commands(tmp_path, COMMANDS)
    assert all("Run `python manage.py migrate`" in said for said in told.values()), told


@pytest.mark.parametrize("name", ["there", "nowhere"])
def test_a_command_where_nothing_has_begun_makes_nothing_and_asks_whether_the_place_is_right(tmp_path: Path, name: str) -> None:
    (tmp_path / "there").mkdir()
    before = sorted(tmp_path.rglob("*"))
    told = told_by_commands(tmp_path / name, {key: words for key, words in COMMANDS.items() if key not in BEGINS})
    assert all("Is SLICEKEEPER_DATA_DIR right?" in said for said in told.values()), told
    assert sorted(tmp_path.rglob("*")) == before


def test_without_a_key_the_place_is_asked_about_too() -> None:
    environment = replace(settings.ENVIRONMENT, secret_key="")
    said = first_run_trouble(ImproperlyConfigured("The SECRET_KEY setting must not be empty."), environment)
    assert said is not None
    assert "secret.key" in said
    assert first_run_trouble(ImproperlyConfigured("STATIC_ROOT is not set"), environment) is None
