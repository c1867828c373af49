"""Ranks of placed jobs for launchers, and advice on plans."""

from __future__ import annotations

import json

import msgspec
import pytest

from clusters.domain.commands import NodeVerb
from clusters.domain.inventory_events import RackRegistered
from frontend.selectors.launch import RankTable
from scheduling.launch.formats import Format
from scheduling.services import node_mark, run_pass
from tests.api.calls import Api, job
from tests.support.lab import finish, report, start

pytestmark = pytest.mark.django_db

PLAN = {"tp": 8, "ep": 8, "pp": 1, "dp": 2}


@pytest.fixture
def placed(user: Api, cluster: str) -> str:
    """A job of two slices with a plan, running."""
    name: str = user.post("clusters/lab/jobs/", job(plan=PLAN)).body["id"]
    run_pass(cluster)
    start(name)
    return name


def test_an_assignment_says_what_it_costs_and_which_files_there_are(user: Api, placed: str) -> None:
    body = user.get(f"clusters/lab/jobs/{placed}/launch/").body
    assert [body[key] for key in ("generation", "nodes", "ranks", "lost", "problem")] == [1, 32, 128, 0, ""]
    assert [file["format"] for file in body["files"]] == [form.value for form in Format]
    assert body["costs"]["plan"] == {**PLAN, "gpus": 128, "group": 64}
    deepseek = {cost["model"]: cost for cost in body["costs"]["costs"]}["deepseek-v3"]
    assert [placement["name"] for placement in deepseek["placements"]] == ["here", "packed", "scattered"]
    assert [placement["groups_whole"] for placement in deepseek["placements"]] == [True, False, False]


@pytest.mark.parametrize("form", list(Format))
def test_each_file_is_what_its_address_says(user: Api, placed: str, form: Format) -> None:
    facts = user.get(f"clusters/lab/jobs/{placed}/launch/").body
    file = next(file for file in facts["files"] if file["format"] == form)
    for accept in ("*/*", "text/plain", "application/json"):
        answer = user.get(file["url"].removeprefix("/api/v1/"), accept=accept)
        assert answer.status == 200
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{file["filename"]}"'
    if form is Format.RANKS:
        assert len(msgspec.convert(answer.body, RankTable).ranks) == 128
        assert msgspec.to_builtins(msgspec.convert(answer.body, RankTable)) == answer.body
    elif form is Format.NODELIST:
        assert answer.body == b"r1-n[01-16],r2-n[01-16]\n"
    else:
        assert b"r2-n16" in answer.body


def test_an_earlier_generation_stays_to_be_read(user: Api, cluster: str, placed: str) -> None:
    path = f"clusters/lab/jobs/{placed}/launch/"
    assert node_mark(cluster=cluster, node="r1-n05", verb=NodeVerb.FAIL, by="op") is None
    run_pass(cluster)
    now, then = user.get(f"{path}?format=nodelist"), user.get(f"{path}?format=nodelist&generation=1")
    assert (now.body, then.body) == (b"r1-n[01-04,06-17],r2-n[01-16]\n", b"r1-n[01-16],r2-n[01-16]\n")
    finish(placed)
    assert user.get(f"{path}?format=nodelist").body == now.body
    missing = user.get(f"{path}?generation=3")
    assert (missing.status, missing.body["code"]) == (404, "unknown-subject")


def test_a_job_without_nodes_is_a_conflict(user: Api, cluster: str) -> None:
    name = user.post("clusters/lab/jobs/", job(held=True)).body["id"]
    answer = user.get(f"clusters/lab/jobs/{name}/launch/?format=hostfile")
    assert (answer.status, answer.body["code"]) == (409, "state")
    assert "has no nodes" in answer.body["detail"]
    assert user.get("clusters/lab/jobs/j999999/launch/").status == 404


def test_a_stalled_job_has_only_its_rank_map(user: Api, cluster: str) -> None:
    name = user.post("clusters/lab/jobs/", job(nodes=64)).body["id"]
    run_pass(cluster)
    start(name)
    for _ in range(3):
        ranks = user.get(f"clusters/lab/jobs/{name}/launch/?format=ranks").body["ranks"]
        assert node_mark(cluster=cluster, node=ranks[0]["node"], verb=NodeVerb.FAIL, by="op") is None
        run_pass(cluster)
    body = user.get(f"clusters/lab/jobs/{name}/launch/").body
    assert (body["lost"], [file["format"] for file in body["files"]], body["costs"]) == (1, ["ranks"], None)
    refused = user.get(f"clusters/lab/jobs/{name}/launch/?format=slurm")
    assert (refused.status, refused.body["code"]) == (409, "state")


@pytest.mark.parametrize(
    ("query", "field"),
    [("format=pdf", "format"), ("generation=0", "generation"), ("fabric_gbps=0", "fabric_gbps"), ("node=1", "node")],
)
def test_questions_that_make_no_sense_are_named(user: Api, placed: str, query: str, field: str) -> None:
    answer = user.get(f"clusters/lab/jobs/{placed}/launch/?{query}")
    assert answer.status == 422
    assert [error["field"] for error in answer.body["errors"]] == [field]


def test_a_plan_gets_a_slice_size_and_its_price(user: Api, cluster: str) -> None:
    body = user.get("clusters/lab/parallel/?ep=64&dp=2").body
    assert (body["advice"]["max_slice"], body["advice"]["slices"]) == (16, [16, 16])
    assert body["links"] == {"inside_gbs": 900, "outside_gbs": 50, "ratio": 18, "fabric_from": "default"}
    faster = user.get("clusters/lab/parallel/?ep=64&dp=2&fabric_gbps=800").body
    assert (faster["links"]["ratio"], faster["links"]["fabric_from"]) == (9, "given")
    report(RackRegistered(rack="r1", block="b1", switch_trays=9, fabric_gbps=200))
    slower = user.get("clusters/lab/parallel/?ep=64&dp=2").body
    assert (slower["links"]["ratio"], slower["links"]["fabric_from"]) == (36, "inventory")
    assert "13.9x" in json.dumps(body["fits"])
    assert [figure["figure"] for figure in body["published"]] == ["-43 %", "up to 60 %", "3.9x", "up to 4.4x", "+14.4 %"]


def test_the_advice_is_what_the_engine_then_does(user: Api, cluster: str) -> None:
    advice = user.get("clusters/lab/parallel/?tp=8&dp=12").body["advice"]
    wanted = {"nodes": advice["nodes"], "max_slice": advice["max_slice"], "plan": {"tp": 8, "ep": 1, "pp": 1, "dp": 12}}
    name = user.post("clusters/lab/jobs/", job(**wanted)).body["id"]
    run_pass(cluster)
    slices = user.get(f"clusters/lab/jobs/{name}/").body["slices"]
    assert [len(part["nodes"]) for part in slices] == advice["slices"] == [8, 8, 8]
    assert user.get(f"clusters/lab/jobs/{name}/launch/").body["problem"] == ""


def test_the_preview_says_which_slices_would_suit_a_plan_better(user: Api, cluster: str) -> None:
    body = {"nodes": 24, "plan": {"tp": 8, "ep": 1, "pp": 1, "dp": 12}}
    hint = "; for the groups of its plan max_slice 8 would give slices of 32 GPUs"
    assert hint in user.post("clusters/lab/jobs/preview/", body).body["text"]
    assert hint not in user.post("clusters/lab/jobs/preview/", body | {"max_slice": 8}).body["text"]


@pytest.mark.parametrize(
    ("query", "field"), [("tp=6", "plan"), ("tp=128&ep=129", "plan"), ("tp=0", "tp"), ("overlap=2", "overlap"), ("model=x", "model")]
)
def test_plans_that_make_no_sense_are_named(user: Api, cluster: str, query: str, field: str) -> None:
    answer = user.get(f"clusters/lab/parallel/?{query}")
    assert answer.status == 422
    assert [error["field"] for error in answer.body["errors"]] == [field]


def test_a_cluster_that_is_not_there_advises_nobody(user: Api, cluster: str) -> None:
    assert user.get("clusters/none/parallel/?ep=64").status == 404
