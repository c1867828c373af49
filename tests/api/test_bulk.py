"""Many jobs in one request: all of them or none, once, each named by its place."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.eventlog.live import live
from frontend.api.jobchanges import MOST_AT_ONCE
from scheduling.services import run_pass
from tests.api.calls import Api, job

pytestmark = pytest.mark.django_db

BULK = "clusters/lab/jobs/bulk/"
JOBS = "clusters/lab/jobs/"


def head() -> int:
    return live("lab").catch_up().seq


def test_many_jobs_are_submitted_in_the_order_given(user: Api, cluster: str) -> None:
    made = user.post(BULK, {"jobs": [job(name="a"), job(name="b", nodes=4, kind="interactive"), job(name="c", nodes=None, gpus=1)]})
    assert made.status == 201
    assert [item["name"] for item in made.body["items"]] == ["a", "b", "c"]
    first = user.get(f"{JOBS}{made.body['items'][0]['id']}/").body
    assert (first["request"]["name"], first["submitted_by"], first["request"]["restartable"]) == ("a", "bob", True)
    assert user.get(f"{JOBS}{made.body['items'][1]['id']}/").body["request"]["restartable"] is False
    run_pass(cluster)
    assert {item["state"] for item in user.get(JOBS).body["items"]} == {"placed"}


def test_the_most_that_is_taken_is_taken(user: Api, cluster: str) -> None:
    wanted = [job(name=f"job {number}", nodes=1 + number % 18, team="red", expected_run_s=3600) for number in range(MOST_AT_ONCE)]
    assert len(user.post(BULK, {"jobs": wanted}).body["items"]) == MOST_AT_ONCE
    refused = user.post(BULK, {"jobs": [*wanted, job()]})
    assert (refused.status, refused.body["errors"][0]["field"]) == (422, "jobs")
    assert refused.body["errors"][0]["expected"] == "give a list of 1 to 1000 objects"


def test_sent_again_under_its_key_it_is_the_same_jobs(user: Api, cluster: str) -> None:
    wanted = {"jobs": [job(name="a"), job(name="b")]}
    first, again = (user.post(BULK, wanted, **{"Idempotency-Key": "night"}) for _ in range(2))
    assert (first.status, first.body) == (again.status, again.body)
    assert len(user.get(JOBS).body["items"]) == 2
    sources = {event["source_id"] for event in user.get("clusters/lab/events/?kind=JobSubmitted").body["items"]}
    assert sources == {"night", "night/1"}
    before = head()
    for other in ({"jobs": [job(name="a")]}, {"jobs": [job(name="b"), job(name="a")]}):
        refused = user.post(BULK, other, **{"Idempotency-Key": "night"})
        assert (refused.status, refused.body["code"]) == (409, "source-conflict")
    assert user.post(JOBS, job(name="a"), **{"Idempotency-Key": "night"}).status == 409
    assert head() == before


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["jobs"]),
        ({"jobs": []}, ["jobs"]),
        ({"jobs": None}, ["jobs"]),
        ({"jobs": {"name": "x"}}, ["jobs"]),
        ({"jobs": ["x", job(), None, []]}, ["jobs[0]", "jobs[2]", "jobs[3]"]),
        ({"jobs": [job(), job(nodes=0), job(kind="x", extra=1), job()]}, ["jobs[1].nodes", "jobs[2].kind", "jobs[2].extra"]),
        ({"jobs": [job(), job(extra=1)]}, ["jobs[1].extra"]),
        ({"jobs": [job(gpus=2), job(), job(nodes=None)]}, ["jobs[0].nodes", "jobs[2].nodes"]),
        ({"jobs": [job()], "more": 1}, ["more"]),
    ],
)
def test_what_is_wrong_is_named_by_its_place_and_nothing_is_submitted(user: Api, cluster: str, body: Any, fields: list[str]) -> None:
    before = head()
    refused = user.post(BULK, body)
    assert (refused.status, refused.body["code"]) == (422, "invalid")
    assert [error["field"] for error in refused.body["errors"]] == fields
    assert head() == before


def test_one_that_could_never_be_served_refuses_all(user: Api, cluster: str) -> None:
    before = head()
    refused = user.post(BULK, {"jobs": [job(), job(nodes=100), job(nodes=7, slice_size=2)]})
    assert (refused.status, refused.body["code"]) == (422, "infeasible")
    assert [(error["field"], error["value"]) for error in refused.body["errors"]] == [("jobs[1].nodes", 100), ("jobs[2].nodes", "7")]
    assert refused.body["errors"][0]["expected"] == "give at most 64 nodes"
    assert head() == before


def test_larger_bodies_are_taken_here_only(user: Api, cluster: str) -> None:
    wide = {"jobs": [job(name="x" * 64, team="y" * 64) for _ in range(600)]}
    assert user.post(BULK, wide).status == 201
    assert user.send(BULK, b" " * (1024 * 1024 + 1)).status == 413
