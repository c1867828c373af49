"""`manage.py submit`: the body of the API, from a file."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from clusters.eventlog.live import live
from scheduling.services import run_pass
from tests.support.lab import NAME, make_lab

pytestmark = pytest.mark.django_db

JOB = {"name": "train", "kind": "training", "nodes": 24, "layers": [{"level": "rack", "size": 12}]}


@pytest.fixture(autouse=True)
def lab(db: None) -> None:
    make_lab()


def submit(tmp_path: Path, body: Any, *options: str) -> str:
    file = tmp_path / "job.json"
    file.write_text(body if isinstance(body, str) else json.dumps(body), encoding="utf-8")
    out = io.StringIO()
    call_command("submit", str(file), *options, cluster=NAME, stdout=out)
    return out.getvalue()


def test_one_job_is_submitted(tmp_path: Path) -> None:
    User.objects.create_user("ci")
    told = submit(tmp_path, JOB, "--by", "ci")
    (job,) = live(NAME).catch_up().jobs.values()
    assert told == f"submitted {job.id}\n"
    assert (job.submitted_by, job.request.layers[0].size) == ("ci", 12)


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_jobs_of_nobody_known_are_refused(tmp_path: Path, options: tuple[str, ...]) -> None:
    User.objects.create_user("gone", is_active=False)
    for who in ("nobody", "gone"):
        with pytest.raises(CommandError, match=f"--by: there is no active user '{who}'"):
            submit(tmp_path, JOB, "--by", who, *options)
    assert not live(NAME).catch_up().jobs


def test_many_are_submitted_all_or_none(tmp_path: Path) -> None:
    told = json.loads(submit(tmp_path, {"jobs": [JOB, {**JOB, "name": "other"}]}, "--json"))
    assert told == {"jobs": list(live(NAME).catch_up().jobs)}
    with pytest.raises(CommandError, match=r"jobs\[1\].nodes: 999 can never be placed here; give at most 64 nodes"):
        submit(tmp_path, {"jobs": [JOB, {"name": "x", "kind": "batch", "nodes": 999}]})
    assert len(live(NAME).catch_up().jobs) == 2


def test_a_rehearsal_says_how_it_would_be_cut(tmp_path: Path) -> None:
    told = json.loads(submit(tmp_path, JOB, "--dry-run", "--json"))
    assert (told["dry_run"], told["jobs"][0]["slices"], told["jobs"][0]["fits_now"]) == (True, [12, 12], True)
    assert "there is room now" in submit(tmp_path, JOB, "--dry-run")
    assert not live(NAME).catch_up().jobs
    submit(tmp_path, {"name": "all", "kind": "batch", "nodes": 64})
    run_pass(NAME)
    assert "would wait now" in submit(tmp_path, JOB, "--dry-run")


def test_a_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(
        CommandError, match=r"^FILE: 'nofile.json' cannot be read \(No such file or directory\); give the path of a file, or -"
    ):
        call_command("submit", "nofile.json", cluster=NAME)


BAD: dict[str, tuple[Any, str]] = {
    "no JSON": ("{", "The body is not JSON"),
    "a list": ([JOB], "give an object"),
    "a wrong field": ({**JOB, "layers": [{"level": "rack", "size": 0}]}, r"^layers\[0\].size: give a whole number from 1"),
    "several wrong fields": ({**JOB, "nodes": 0, "kind": "x"}, "(?s)nodes: give.*kind: give one of|kind: give one of.*nodes: give"),
    "what the domain refuses": ({**JOB, "mode": "required"}, "^level: name the level"),
    "what can never fit": ({**JOB, "nodes": 960}, "^nodes: 960 can never be placed here"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("option", ["--json", "--dry-run"])
def test_what_is_wrong_is_named_and_nothing_is_submitted(tmp_path: Path, case: str, option: str) -> None:
    body, message = BAD[case]
    with pytest.raises(CommandError, match=message):
        submit(tmp_path, body, option)
    assert not live(NAME).catch_up().jobs


def test_a_file_or_cluster_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        call_command("submit", str(tmp_path / "none.json"), cluster=NAME)
    (tmp_path / "job.json").write_text(json.dumps(JOB), encoding="utf-8")
    with pytest.raises(CommandError, match="nowhere"):
        call_command("submit", str(tmp_path / "job.json"), cluster="nowhere")
