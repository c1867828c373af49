"""What a job may ask besides its size: nested as the domain nests it, told back as given, and refused by the name of its place."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.eventlog.live import live
from tests.api.calls import Api, job

pytestmark = pytest.mark.django_db

JOBS = "clusters/lab/jobs/"

LAYERED = job(
    level="block",
    mode="preferred",
    layers=[{"level": "block", "size": 32}, {"level": "rack", "size": 16}],
    plan={"tp": 4, "ep": 8, "pp": 2, "dp": 2},
    time_limit_s=7200,
    not_before=10**15,
    exclusive=True,
)
PARTS = {
    "name": "rl",
    "kind": "rl",
    "parts": [
        {"name": "trainer", "nodes": 16, "slice_size": 8, "level": "rack", "mode": "required"},
        {"name": "rollout", "nodes": 8, "max_slice": 4},
    ],
}


def submitted(api: Api, body: dict[str, Any]) -> dict[str, Any]:
    made = api.post(JOBS, {**body, "held": True})
    assert made.status == 201, made.body
    request: dict[str, Any] = made.body["request"]
    return request


@pytest.mark.parametrize("body", [LAYERED, PARTS], ids=["layered", "parts"])
def test_what_is_told_of_a_request_can_be_sent_again(user: Api, cluster: str, body: dict[str, Any]) -> None:
    told = submitted(user, body)
    assert submitted(user, told) == told
    for field in body.keys() - {"parts"}:
        assert told[field] == body[field]


def test_the_size_follows_from_the_parts_or_the_plan(user: Api, cluster: str) -> None:
    assert submitted(user, PARTS)["nodes"] == 24
    planned = {"name": "p", "kind": "training", "plan": {"tp": 4, "dp": 8}}
    assert (submitted(user, planned)["nodes"], submitted(user, planned)["gpus"]) == (None, 32)


def test_a_job_may_come_after_others(user: Api, cluster: str) -> None:
    first = user.post(JOBS, job(nodes=1)).body["id"]
    second = user.post(JOBS, job(nodes=1, after=[first])).body["id"]
    assert live("lab").catch_up().jobs[second].request.after == (first,)


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "a layer of no size": ({"layers": [{"level": "rack", "size": 0}]}, "layers[0].size", "give a whole number from 1"),
    "a layer without a level": ({"layers": [{"size": 4}]}, "layers[0].level", "give 1 to 64"),
    "layers that do not divide": (
        {"layers": [{"level": "block", "size": 24}, {"level": "rack", "size": 16}]},
        "layers[0].size",
        "give a multiple of the layer inside it (16)",
    ),
    "too many layers": ({"layers": [{"level": str(n), "size": 1} for n in range(5)]}, "layers", "give a list of 0 to 4"),
    "layers that are no list": ({"layers": {"rack": 16}}, "layers", "give a list"),
    "an unknown field of a layer": ({"layers": [{"level": "rack", "size": 4, "x": 1}]}, "layers[0].x", "there is no such field"),
    "a mode of another kind": ({"level": "rack", "mode": "strict"}, "mode", "give one of: required, preferred, any"),
    "a required level without a name": ({"mode": "required"}, "level", "name the level"),
    "a preferred level without a name": ({"mode": "preferred"}, "level", "name the level"),
    "a part with a mode and no level": (
        {"nodes": None, "parts": [{"name": "a", "nodes": 4, "mode": "preferred"}]},
        "parts[0].level",
        "name the level",
    ),
    "a degree of nothing": ({"plan": {"tp": 0}}, "plan.tp", "give a whole number from 1"),
    "a plan that is no object": ({"plan": 8}, "plan", "give an object"),
    "parts that do not add up": ({"parts": [{"name": "a", "nodes": 4}]}, "nodes", "give the nodes of all parts together (4)"),
    "two parts of one name": ({"nodes": 2, "parts": [{"name": "a", "nodes": 1}] * 2}, "parts", "give each part a name"),
    "an id of no job": ({"after": ["j1"]}, "after[0]", "give the id of a job"),
    "an empty id": ({"after": [""]}, "after[0]", "give the id of a job"),
    "a time before all time": ({"not_before": -1}, "not_before", "give a whole number"),
    "no time to run": ({"time_limit_s": 0}, "time_limit_s", "give a whole number from 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_named_by_its_place(user: Api, cluster: str, case: str) -> None:
    fields, field, expected = BAD[case]
    refused = user.post(JOBS, job(**fields))
    assert refused.status == 422
    errors = {error["field"]: error["expected"] for error in refused.body["errors"]}
    assert errors[field].startswith(expected)


def test_of_many_jobs_the_place_comes_first(user: Api, cluster: str) -> None:
    refused = user.post(f"{JOBS}bulk/", {"jobs": [job(), job(layers=[{"level": "rack", "size": 5}], slice_size=2)]})
    assert [error["field"] for error in refused.body["errors"]] == ["jobs[1].layers[0].size"]


def test_the_preview_takes_all_that_placement_depends_on(user: Api, cluster: str) -> None:
    wanted = user.post(f"{JOBS}preview/", {"nodes": 24, "layers": [{"level": "rack", "size": 12}], "level": "rack"})
    assert (wanted.status, wanted.body["slices"]) == (200, [12, 12])
    assert user.get(f"{JOBS}preview/?nodes=24&level=rack&mode=preferred&exclusive=true").status == 200
    assert user.post(f"{JOBS}preview/", {"nodes": 24, "name": "x"}).body["errors"][0]["field"] == "name"
