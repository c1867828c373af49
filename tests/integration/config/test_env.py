from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from config import env
from config.secret import SECRET_FILE
from tests.support.shared import ROOT

SECRET = "s" * 50
SEVERAL = {env.REDIS_URL: "redis://127.0.0.1:6379/0", env.SECRET_KEY: SECRET, env.ALLOWED_HOSTS: "gpu.example.org"}


def problems(environ: dict[str, str], base: Path) -> list[str]:
    return [problem.code for problem in env.read(environ, base).problems]


def test_nothing_set_means_one_process_on_loopback_with_sqlite_in_var(tmp_path: Path) -> None:
    found = env.read({}, tmp_path)
    assert found.embedded
    assert found.problems == ()
    assert found.data_dir == tmp_path / "var"
    assert found.databases["default"]["NAME"] == str(tmp_path / "var" / "slicekeeper.sqlite3")
    assert (found.bind, found.port, found.https) == ("127.0.0.1", 8000, False)
    assert found.allowed_hosts == ("localhost", "127.0.0.1", "[::1]")


def test_a_redis_url_means_several_processes_behind_https(tmp_path: Path) -> None:
    found = env.read(SEVERAL, tmp_path)
    assert not found.embedded
    assert found.https
    assert found.secret_key == SECRET
    assert found.allowed_hosts[-1] == "gpu.example.org"
    assert found.problems == ()


@pytest.mark.parametrize(
    ("environ", "codes"),
    [
        ({env.DATABASE_URL: "mysql://localhost/x"}, ["E002"]),
        ({env.REDIS_URL: "localhost:6379", env.SECRET_KEY: SECRET, env.ALLOWED_HOSTS: "a.b"}, ["E003"]),
        ({env.REDIS_URL: "redis://r", env.ALLOWED_HOSTS: "a.b"}, ["E004"]),
        ({env.SECRET_KEY: "short"}, ["E004"]),
        ({env.BIND: "127.0.0.1:8000"}, ["E005"]),
        ({env.BIND: "example.org", env.ALLOWED_HOSTS: "a.b"}, ["E005"]),
        ({env.PORT: "80a"}, ["E006"]),
        ({env.PORT: "0"}, ["E006"]),
        ({env.PORT: "65536"}, ["E006"]),
        ({env.ALLOWED_HOSTS: "*"}, ["E007"]),
        ({env.ALLOWED_HOSTS: "https://gpu.example.org"}, ["E007"]),
        ({env.ALLOWED_HOSTS: "gpu.example.org:8000"}, ["E007"]),
        ({env.HTTPS: "yes"}, ["E008"]),
        ({env.LOG_FORMAT: "xml"}, ["E009"]),
        ({env.METRICS_TOKEN: "short"}, ["E010"]),
        ({env.METRICS_TOKEN: "t " * 20}, ["E010"]),
        ({env.LOG_FORMAT: "json", env.METRICS_TOKEN: "t" * 20}, []),
        ({env.BIND: "0.0.0.0"}, ["W001"]),
        ({env.REDIS_URL: "redis://r", env.SECRET_KEY: SECRET}, ["W001"]),
        ({"SLICEKEEPER_DATABSE_URL": "x"}, ["W002"]),
        ({"SLICEKEEPER_SIGNAL_TOKEN_WEST": "x"}, []),
        ({env.ALLOWED_HOSTS: "gpu.example.org, 10.1.2.3,[::2],.lab.example"}, []),
        ({env.BIND: "::1"}, []),
        ({env.DATABASE_URL: "", env.REDIS_URL: "", env.ALLOWED_HOSTS: ""}, []),
        ({"UNRELATED": "x"}, []),
    ],
)
def test_each_wrong_variable_has_its_code(environ: dict[str, str], codes: list[str], tmp_path: Path) -> None:
    assert problems(environ, tmp_path) == codes


def test_variables_of_the_worker_library_are_no_mistakes_where_local_nodes_are_started(tmp_path: Path) -> None:
    sources = "".join(file.read_text() for file in (ROOT / "slicekeeper_worker").glob("*.py"))
    names = set(re.findall(r"SLICEKEEPER_[A-Z_]+\b(?<!_)", sources))
    assert {"SLICEKEEPER_URL", "SLICEKEEPER_SOCKETS"} <= names
    assert problems(dict.fromkeys(names, "x"), tmp_path) == []


def test_every_problem_is_found_at_once_and_says_what_is_right(tmp_path: Path) -> None:
    found = env.read({env.BIND: "x", env.PORT: "x", env.DATABASE_URL: "x", env.HTTPS: "x"}, tmp_path).problems
    assert len(found) == 4
    assert all((problem.hint and "'x'" in problem.message) or problem.code == "E002" for problem in found)


def test_a_misspelt_variable_is_told_its_name(tmp_path: Path) -> None:
    (problem,) = env.read({"SLICEKEEPER_DATABSE_URL": "x"}, tmp_path).problems
    assert problem.hint == "Did you mean SLICEKEEPER_DATABASE_URL?"
    assert not problem.fatal


@pytest.mark.parametrize("name", [env.DATABASE_URL, env.REDIS_URL])
def test_a_password_is_never_repeated(name: str, tmp_path: Path) -> None:
    environ = {name: "mysql://user:hunter2@host/name", env.SECRET_KEY: SECRET, env.ALLOWED_HOSTS: "a.b"}
    (problem,) = env.read(environ, tmp_path).problems
    assert "hunter2" not in problem.message + problem.hint


def test_a_wrong_database_url_leaves_no_database_to_write_to(tmp_path: Path) -> None:
    assert env.read({env.DATABASE_URL: "mysql://localhost/x"}, tmp_path).databases == {}


def test_a_data_directory_that_is_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert problems({env.DATA_DIR: str(file / "inside")}, tmp_path) == ["E001"]


def test_the_first_run_makes_a_secret_and_later_ones_keep_it(tmp_path: Path) -> None:
    env.prepare(env.read({}, tmp_path))
    first = env.read({}, tmp_path)
    env.prepare(first)
    assert len(first.secret_key) >= env.SECRET_MIN_LENGTH
    assert env.read({}, tmp_path).secret_key == first.secret_key
    assert (tmp_path / "var" / SECRET_FILE).stat().st_mode & 0o777 == 0o600
    assert [file.name for file in (tmp_path / "var").iterdir()] == [SECRET_FILE]


@pytest.mark.parametrize("content", [b"", b"short\n", b"\xff" * 64])
def test_a_kept_secret_that_is_none_is_told_and_left_alone(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "var" / SECRET_FILE
    file.parent.mkdir()
    file.write_bytes(content)
    found = env.read({}, tmp_path)
    assert [problem.code for problem in found.problems] == ["E004"]
    env.prepare(found)
    assert file.read_bytes() == content


def test_a_first_run_that_finds_no_room_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(OSError, match="No space left"):
        env.prepare(env.read({}, tmp_path))
    assert list((tmp_path / "var").iterdir()) == []


def test_a_draft_that_a_killed_first_run_left_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / f"{SECRET_FILE}.{os.getpid()}").touch()
    env.prepare(env.read({}, tmp_path))
    assert env.read({}, tmp_path).secret_key


def test_an_empty_data_directory_means_the_usual_one(tmp_path: Path) -> None:
    assert env.read({env.DATA_DIR: ""}, tmp_path).data_dir == tmp_path / "var"


@pytest.mark.parametrize("environ", [SEVERAL, {env.SECRET_KEY: SECRET}])
def test_no_secret_is_made_where_one_is_given(environ: dict[str, str], tmp_path: Path) -> None:
    env.prepare(env.read(environ, tmp_path))
    assert list((tmp_path / "var").iterdir()) == []


def test_nothing_is_made_in_a_wrong_environment(tmp_path: Path) -> None:
    env.prepare(env.read({env.PORT: "x"}, tmp_path))
    assert list(tmp_path.iterdir()) == []
