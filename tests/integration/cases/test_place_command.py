"""`manage.py place` as people type it: questions in, answers out, or an error and nothing written."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

Asked = Callable[[Any], Any]


def node(name: str, free: int | None = 1, **more: Any) -> dict[str, Any]:
    """A node whose name says where it is: block-rack-host."""
    return {"name": name, "labels": dict(zip(("block", "rack"), name.split("-"), strict=False)), "free": free} | more


def case(nodes: list[dict[str, Any]], request: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "c1", "kind": "place", "levels": ["block", "rack", "host"], "nodes": nodes, "request": request} | more


def cases(*listed: dict[str, Any]) -> dict[str, Any]:
    return {"schema": "placement-cases/1", "cases": list(listed)}


@pytest.fixture
def ask(tmp_path: Path) -> Asked:
    """Write questions, run the command, read the answers."""

    def run(document: Any) -> Any:
        questions, answers = tmp_path / "q.json", tmp_path / "a.json"
        questions.write_text(document if isinstance(document, str) else json.dumps(document))
        call_command("place", str(questions), "--out", str(answers), stdout=io.StringIO())
        return json.loads(answers.read_text())

    return run


def assignment(answer: dict[str, Any]) -> dict[str, int]:
    return {part["node"]: part["count"] for part in answer["assignment"]}


RACKS = [node("b1-r1-n1", 4), node("b1-r1-n2", 4), node("b1-r2-n1", 3), node("b2-r1-n1", 4)]


def test_a_request_is_placed_on_nodes_by_name(ask: Asked) -> None:
    found = ask(cases(case(RACKS, {"mode": "required", "level": "rack", "count": 6})))
    assert found["c1"]["placed"] is True
    assert assignment(found["c1"]) == {"b1-r1-n1": 4, "b1-r1-n2": 2}


def test_a_refusal_is_counted(ask: Asked) -> None:
    taken = [node("b2-r2-n1", ready=False), node("b2-r2-n2", 0, excluded_by="taint"), node("b2-r2-n3", 0)]
    found = ask(cases(case(RACKS + taken, {"mode": "required", "level": "rack", "count": 9})))
    assert found["c1"] == {
        "placed": False,
        "assignment": [],
        "reason": {
            "code": "insufficient",
            "level": "rack",
            "fit": 8,
            "of": 9,
            "unit": "worker",
            "best": ["b1", "r1"],
            "free": 15,
            "excluded_nodes": {"no_room": 1, "not_ready": 1, "taint": 1},
            "candidate_nodes": 6,
        },
    }


@pytest.mark.parametrize(
    ("request_", "placed"),
    [
        ({"count": 8, "slice_layers": [{"level": "rack", "size": 4}, {"level": "host", "size": 2}]}, True),
        ({"count": 16, "slice_layers": [{"level": "rack", "size": 4}]}, False),
        ({"count": 12, "slice_size": 4, "slice_level": "rack", "mode": "slice_only", "level": "block"}, True),
        ({"count": 3, "slice_size": 2, "slice_level": "rack"}, False),
        ({"count": 3, "slice_size": 2, "slice_level": "rack", "tail": True}, True),
        ({"count": 15, "mode": "unconstrained"}, True),
        ({"count": 12, "mode": "preferred", "level": "rack", "slice_size": None}, True),
        ({"count": 1, "mode": "required", "level": "planet"}, False),
        ({"count": 1, "mode": "required", "level": "rack", "node_list": ["b1-r2-n1"]}, True),
        ({"count": 4, "mode": "required", "level": "rack", "node_list": ["b1-r2-n1"]}, False),
        ({"count": 20, "min_count": 5, "mode": "required", "level": "block"}, True),
    ],
)
def test_what_requests_may_say(ask: Asked, request_: dict[str, Any], placed: bool) -> None:
    assert ask(cases(case(RACKS, request_)))["c1"]["placed"] is placed


def test_an_elastic_request_gets_as_many_as_fit(ask: Asked) -> None:
    found = ask(cases(case(RACKS, {"count": 20, "min_count": 5, "mode": "required", "level": "block"})))
    assert sum(assignment(found["c1"]).values()) == 11


def test_nodes_that_share_all_labels_are_told_apart_and_those_without_stand_alone(ask: Asked) -> None:
    bare = {"name": "odd", "labels": {}, "free": 7}
    found = ask(cases(case([*RACKS, bare], {"count": 8, "mode": "required", "level": "rack"}, levels=["block", "rack"])))
    assert assignment(found["c1"]) == {"b1-r1-n1": 4, "b1-r1-n2": 4}
    found = ask(cases(case([*RACKS, bare], {"count": 7, "mode": "required", "level": "rack"}, levels=["block", "rack"])))
    assert assignment(found["c1"]) == {"odd": 7}


def test_a_swap_answers_with_the_whole_new_assignment(ask: Asked) -> None:
    nodes = [node("b1-r1-n1", 0, failed=True), node("b1-r1-n2", 0), node("b1-r1-n3", 1), node("b2-r1-n1", 9)]
    previous = [{"node": "b1-r1-n1", "domain": ["b1", "r1", "b1-r1-n1"], "count": 1}, {"node": "b1-r1-n2", "count": 1}]
    request = {"mode": "required", "level": "rack", "count": 2, "lost": 1, "failed_host": "b1-r1-n1", "previous_assignment": previous}
    assert assignment(ask(cases(case(nodes, request, kind="replace")))["c1"]) == {"b1-r1-n2": 1, "b1-r1-n3": 1}


def test_a_swap_never_goes_back_to_the_failed_host(ask: Asked) -> None:
    nodes = [node("b1-r1-n1", 5), node("b1-r1-n2", 0)]
    previous = [{"node": None, "host": "b1-r1-n1", "gone": True, "count": 1}, {"node": "b1-r1-n2", "count": 1}]
    request = {"mode": "preferred", "level": "rack", "count": 2, "lost": 1, "failed_host": "b1-r1-n1", "previous_assignment": previous}
    assert ask(cases(case(nodes, request, kind="replace")))["c1"]["placed"] is False


def test_a_job_that_waits_is_placed_beside_running_ones_where_it_fits(ask: Asked) -> None:
    jobs = [
        {"name": "running", "gpus_per_worker": 1, "workers": [{"state": "running", "node": "n0"}, {"state": "pending"}]},
        {"name": "waiting", "gpus_per_worker": 2, "workers": [{"state": "pending"}, {"state": "pending"}]},
    ]
    nodes = [{"name": "n0", "labels": {}, "gpus": 4}, {"name": "n1", "labels": {}, "gpus": 2}]
    request = {"job": "waiting", "count": 2, "mode": "unconstrained"}
    found = ask(cases(case(nodes, request, kind="consolidate", levels=[], jobs=jobs)))["c1"]
    assert (assignment(found), found["moves"]) == ({"n0": 1, "n1": 1}, [])
    refused = ask(cases(case(nodes, request | {"count": 3}, kind="consolidate", levels=[], jobs=jobs)))["c1"]
    assert (refused["placed"], refused["moves"]) == (False, [])


BLOCKS = [node(f"b{block}-n{number}") for block in range(1, 5) for number in range(1, 5)]


@pytest.mark.parametrize(
    ("request_", "blocks"),
    [
        ({"count": 3}, {"b1"}),  # in one block
        ({"count": 5}, {"b1", "b2"}),  # in two that are joined
        ({"count": 9}, {"b1", "b2", "b3"}),  # larger than any size: not bound
        ({"count": 6, "slice_size": 3, "slice_level": "block"}, {"b1", "b2"}),
        ({"count": 6, "slice_size": 6, "slice_level": "block"}, {"b3", "b4"}),
        ({"count": 9, "slice_size": 9, "slice_level": "block"}, None),
    ],
)
def test_slurm_blocks_are_joined_where_a_job_or_a_slice_needs_it(ask: Asked, request_: dict[str, Any], blocks: set[str] | None) -> None:
    nodes = [entry | {"free": 0} if entry["name"] == "b2-n4" and request_["count"] == 6 else entry for entry in BLOCKS]
    if request_.get("slice_size") == 6:
        nodes = [entry | {"free": 0} if entry["name"] in ("b1-n1", "b1-n2") else entry for entry in nodes]
    request = {"mode": "required", "level": "aggregate-block"} | request_
    found = ask(cases(case(nodes, request, levels=["block", "host"], block_sizes=[4, 8])))["c1"]
    assert ({name[:2] for name in assignment(found)} or None) == blocks


def test_observed_floors_are_answered_request_by_request(ask: Asked) -> None:
    requests = [{"count": 32, "slice_size": 16}, {"count": 9, "slice_size": None}, {"count": 18, "slice_size": None}]
    floor = {"id": "f1", "free": {"rack1": 16, "rack2": 17, "rack10": 10}, "requests": [*requests, {"count": 20, "slice_size": None}]}
    found = ask({"schema": "slurm-observed/1", "floors": [floor]})["f1"]
    assert [(answer["placed"], answer["per_rack"]) for answer in found] == [
        (True, {"rack1": 16, "rack2": 16}),
        (True, {"rack10": 9}),
        (False, {}),
        (True, {"rack1": 16, "rack10": 4}),
    ]


def test_cases_of_other_kinds_are_counted_and_not_answered(tmp_path: Path) -> None:
    questions = tmp_path / "q.json"
    questions.write_text(
        json.dumps(cases(case([], {}, kind="torus"), {"id": "c2", "kind": "place", "parts": []}, case(RACKS, {"count": 1}, id="c3")))
    )
    out = io.StringIO()
    call_command("place", str(questions), "--out", str(tmp_path / "a.json"), stdout=out)
    assert out.getvalue() == "2 of other kinds, not answered, 1 placed\n"
    assert json.loads((tmp_path / "a.json").read_text()).keys() == {"c3"}


BAD = {
    "not JSON": ("{", "is not JSON"),
    "no list of cases": ({"schema": "placement-cases/1"}, "cases: None is not valid; give a list of cases, or `floors`"),
    "a list": ([], "file: [] is not valid; give an object"),
    "a case without an id": (cases({"kind": "place"}), "cases[0].id: None is not valid; give a text"),
    "two cases of one id": (
        cases(case(RACKS, {"count": 1}), case(RACKS, {"count": 1})),
        "cases[1].id: 'c1' is not valid; give each an id of its own; cases[0] has this one too",
    ),
    "two cases of one id, of which none is answered": (
        cases(case([], {}, kind="torus"), case([], {}, kind="torus")),
        "cases[1].id: 'c1' is not valid; give each an id of its own",
    ),
    "two floors of one id": (
        {"floors": [{"id": "f", "free": {}, "requests": []}, {"id": "f", "free": {}, "requests": []}]},
        "floors[1].id: 'f' is not valid",
    ),
    "a case without a request": (
        cases(case(RACKS, {"count": 1}, id="first"), case(RACKS, {}) | {"request": None}),
        "cases[1].request of 'c1': None is not valid; say what is asked for",
    ),
    "a swap without a request": (cases({"id": "c1", "kind": "replace", "levels": [], "nodes": RACKS}), "cases[0].request of 'c1'"),
    "no nodes": (cases(case([], {"count": 1}) | {"nodes": None}), "cases[0].nodes of 'c1': None is not valid; give a list of objects"),
    "a count that is a text": (
        cases(case(RACKS, {"count": "4"})),
        "cases[0].request.count of 'c1': '4' is not valid; give a whole number from 1",
    ),
    "a count of none": (cases(case(RACKS, {"count": 0})), "cases[0].request.count of 'c1': 0 is not valid; give a whole number from 1"),
    "an unknown mode": (
        cases(case(RACKS, {"count": 1, "mode": "nearly"})),
        "cases[0].request.mode of 'c1': 'nearly' is not valid; give one of",
    ),
    "a node that does not say what fits": (
        cases(case([node("b1-r1-n1", None)], {"count": 1})),
        "cases[0].nodes[0].free of 'c1': None is not valid",
    ),
    "two nodes of one name": (
        cases(case([RACKS[0], RACKS[0]], {"count": 1})),
        "give each node a name of its own; 'b1-r1-n1' is there 2 times",
    ),
    "a level named twice": (
        cases(case(RACKS, {"count": 1}, levels=["rack", "rack"])),
        "cases[0].levels of 'c1': ['rack', 'rack'] is not valid",
    ),
    "a layer of size 0": (
        cases(case(RACKS, {"count": 1, "slice_layers": [{"level": "rack", "size": 0}]})),
        "cases[0].request.slice_layers[0].size of 'c1': 0 is not valid; give a whole number from 1",
    ),
    "a survivor on no node": (
        cases(case(RACKS, {"lost": 1, "failed_host": "x", "previous_assignment": [{"node": "gone", "count": 1}]}, kind="replace")),
        "cases[0].request.previous_assignment[0].node of 'c1': 'gone' is not valid; name a node of the case",
    ),
    "a job that is not there": (
        cases(case([{"name": "n0", "gpus": 1}], {"job": "x", "count": 1}, kind="consolidate", jobs=[])),
        "cases[0].request.job of 'c1': 'x' is not valid; name one of []",
    ),
    "a floor with a text": (
        {"floors": [{"id": "f", "free": {"r1": "x"}, "requests": []}]},
        "floors[0].free.r1 of 'f': 'x' is not valid; give a whole number from 0",
    ),
}


@pytest.mark.parametrize(("document", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_refused_by_field_and_nothing_is_written(ask: Asked, tmp_path: Path, document: Any, message: str) -> None:
    (tmp_path / "a.json").write_text("as it was")
    with pytest.raises(CommandError) as caught:
        ask(document)
    assert message in str(caught.value)
    assert (tmp_path / "a.json").read_text() == "as it was"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.json", "q.json"]


def test_files_that_cannot_be_read_or_written_are_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"absent.json: cannot be read"):
        call_command("place", str(tmp_path / "absent.json"), "--out", str(tmp_path / "a.json"))
    (tmp_path / "q.json").write_text(json.dumps(cases()))
    with pytest.raises(CommandError, match=r"a.json: cannot be written"):
        call_command("place", str(tmp_path / "q.json"), "--out", str(tmp_path / "nowhere" / "a.json"), stdout=io.StringIO())


def test_a_command_that_moves_work_writes_nothing_but_its_own_lines(tmp_path: Path) -> None:
    """The solver's greeting goes to the process's output, past whatever the command writes to."""
    jobs = [
        {"name": "there", "movable": True, "gpus_per_worker": 1, "workers": [{"state": "running", "node": "n0"}]},
        {"name": "waiting", "gpus_per_worker": 2, "workers": []},
    ]
    nodes = [{"name": "n0", "labels": {}, "gpus": 2}, {"name": "n1", "labels": {}, "gpus": 1}]
    request = {"job": "waiting", "count": 1, "mode": "unconstrained"}
    questions, answers = tmp_path / "q.json", tmp_path / "a.json"
    questions.write_text(json.dumps(cases(case(nodes, request, kind="consolidate", levels=[], jobs=jobs))))
    command = [sys.executable, "manage.py", "place", str(questions), "--out", str(answers)]
    done = subprocess.run(command, cwd=settings.BASE_DIR, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("1 placed\n", "")
    assert json.loads(answers.read_text())["c1"]["moves"] == [{"job": "there", "worker": 0, "from": "n0", "to": "n1"}]
