"""import_cluster and export_cluster as an operator types them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from clusters.eventlog.store import default_log
from tests.support.shared import shared_path

pytestmark = pytest.mark.django_db

RACKS = "gpus: 4\nracks: [{name: r1, nodes: 'n[1-2]'}, {name: r2, nodes: n3}]\nstates: [{nodes: n3, state: draining}]\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "racks.yaml"
    path.write_text(RACKS)
    return path


def run(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def report(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("import_cluster", *words, "--json"))
    return found


def test_the_reference_racks_are_imported_once() -> None:
    path = str(shared_path("data", "formats", "k8s-nodes", "gb200_nodes_2racks_constructed.json"))
    first = report(path, "--name", "gb200")
    assert (first["racks"], first["nodes"], first["problems"]) == (2, 36, [])
    assert first["states"] == {"unknown": 1, "quarantined": 1, "draining": 1, "healthy": 33}
    assert first["events"] >= 36 + 2 + 3
    assert report(path, "--name", "gb200")["events"] == 0


def test_a_file_with_a_part_of_the_cluster_has_to_be_allowed(file: Path) -> None:
    run("import_cluster", str(file), "--name", "c1")
    file.write_text("gpus: 4\nracks: [{name: r1, nodes: 'n[1-2]'}]\n")
    assert "1 of 3 nodes are not in this file and become absent" in run("import_cluster", str(file), "--name", "c1", "--dry-run")
    with pytest.raises(CommandError, match=r"nothing was imported:\n  1 of 3 nodes .* is the whole file\nIf it is, give --allow-absent"):
        run("import_cluster", str(file), "--name", "c1")
    assert "1 absent" in run("import_cluster", str(file), "--name", "c1", "--allow-absent")


def test_a_cluster_that_is_not_there_is_told_with_those_that_are(file: Path) -> None:
    with pytest.raises(CommandError, match="there is no cluster 'nobody'; there is none yet"):
        run("export_cluster", "--name", "nobody")
    run("import_cluster", str(file), "--name", "c1")
    with pytest.raises(CommandError, match="there is no cluster 'nobody'; there are: c1"):
        run("export_cluster", "--name", "nobody")


def test_people_get_sentences(file: Path) -> None:
    assert run("import_cluster", str(file), "--name", "c1") == "c1: 3 nodes in 2 racks (1 draining, 2 healthy)\n6 events appended\n"
    assert run("import_cluster", str(file), "--name", "c1") == "c1: 3 nodes in 2 racks (1 draining, 2 healthy)\nnothing changed\n"
    dry = run("import_cluster", str(file), "--name", "c2", "--dry-run", "--rack-label", "x")
    assert "6 events would be appended" in dry
    assert "  x: a native inventory has no labels" in dry
    assert default_log().clusters() == ("c1",)


def test_standard_input_is_a_file_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RACKS.encode())))
    assert report("-", "--name", "c1")["nodes"] == 3


def test_a_bad_file_exits_with_its_problems_and_changes_nothing(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("racks: [{name: r1, nodes: 'n[1-2]'}, {nodes: n3, gpus: 4}]")
    with pytest.raises(CommandError) as caught:
        run("import_cluster", str(bad), "--name", "c1")
    assert "document 1, rack 1, r1: gpus is missing" in str(caught.value)
    assert "document 1, rack 2: name is missing" in str(caught.value)
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("import_cluster", str(bad), "--name", "c1", "--json", stdout=out)
    told = json.loads(out.getvalue())
    assert [problem["position"] for problem in told["problems"]] == ["document 1, rack 1", "document 1, rack 2"]
    assert default_log().clusters() == ()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("import_cluster", "no-such-file", "--name", "c1"), "FILE: 'no-such-file' cannot be read"),
        (("import_cluster", ".", "--name", "c1"), "FILE: '.' cannot be read"),
        (("export_cluster", "--name", "nobody"), "there is no cluster 'nobody'"),
        (("import_cluster", "FILE", "--name", "a b"), "cluster: 'a b' is not valid"),
    ],
)
def test_wrong_words_are_told(words: tuple[str, ...], told: str, file: Path) -> None:
    with pytest.raises(CommandError, match=told):
        run(*(str(file) if word == "FILE" else word for word in words))


def test_what_is_exported_is_imported_without_change(file: Path, tmp_path: Path) -> None:
    run("import_cluster", str(file), "--name", "c1")
    out = tmp_path / "out.yaml"
    run("export_cluster", str(out), "--name", "c1")
    assert run("export_cluster", "--name", "c1") == out.read_text()
    assert report(str(out), "--name", "c1")["events"] == 0
    with pytest.raises(CommandError, match="cannot be written"):
        run("export_cluster", str(tmp_path / "missing" / "out.yaml"), "--name", "c1")
