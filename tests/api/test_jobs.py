"""Jobs over the API: what is taken, what is refused and how, and what is told of a job."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clusters.domain.policy import Policy
from clusters.domain.teams import Quota
from scheduling.services import policy_change, run_pass
from tests.api.calls import Api, job
from tests.support.lab import finish, project_all

pytestmark = pytest.mark.django_db

JOBS = "clusters/lab/jobs/"


def submit(api: Api, **fields: Any) -> str:
    made = api.post(JOBS, job(**fields))
    assert made.status == 201, made.body
    return str(made.body["id"])


def test_a_job_is_submitted_placed_and_described(user: Api, cluster: str) -> None:
    made = user.post(JOBS, job(team="red", slice_size=8, expected_run_s=3600, checkpoint_interval_s=600, recovery="peer", spares=1))
    assert made.status == 201
    assert made.headers["Location"] == f"/api/v1/clusters/lab/jobs/{made.body['id']}/"
    assert (made.body["state"], made.body["submitted_by"]) == ("submitted", "bob")
    assert made.body["request"] == {
        "name": "train", "kind": "training", "nodes": 32, "gpus": None, "slice_size": 8, "max_slice": None, "tail": False, "spares": 1,
        "priority": 0, "restartable": True, "expected_run_s": 3600, "checkpoint_interval_s": 600, "recovery": "peer", "team": "red",
        "held": False, "on_stall": "hold",
        "priority_class": "", "level": "", "mode": "any", "layers": [], "exclusive": False, "parts": [], "plan": None,
        "time_limit_s": None, "not_before": None, "after": [],
    }  # fmt: skip
    run_pass(cluster)
    found = user.get(JOBS + made.body["id"] + "/").body
    assert found["state"] == "placed"
    assert [(part["domain"], len(part["nodes"])) for part in found["slices"]] == [("r1", 16), ("r2", 16)]


def test_a_job_without_nodes_says_why_it_waits(user: Api, cluster: str) -> None:
    big, small = submit(user, nodes=64), submit(user, nodes=16)
    run_pass(cluster)
    waiting = user.get(f"{JOBS}{small}/").body["waiting"]
    assert user.get(f"{JOBS}{big}/").body["waiting"] is None
    assert waiting["code"] == "capacity-blocked"
    assert waiting["counts"]["slice_size"] == 16
    assert "needs 1 domain with 16 free" in waiting["text"]


def test_interactive_work_is_not_restartable_unless_it_says_so(user: Api, cluster: str) -> None:
    quiet, loud = submit(user, kind="interactive"), submit(user, kind="interactive", restartable=True)
    assert [user.get(f"{JOBS}{name}/").body["request"]["restartable"] for name in (quiet, loud)] == [False, True]


BAD: dict[str, tuple[dict[str, Any], str, Any, str]] = {
    "a name of nothing": ({"name": " "}, "name", " ", "give 1 to 64 printable characters"),
    "a name that is a number": ({"name": 5}, "name", 5, "give 1 to 64 printable characters"),
    "a name of two lines": ({"name": "a\nb"}, "name", "a\nb", "give 1 to 64 printable characters"),
    "an unknown kind": ({"kind": "mining"}, "kind", "mining", "give one of: training, inference, batch, interactive"),
    "nodes as text": ({"nodes": "32"}, "nodes", "32", "give a whole number from 1 to 100000"),
    "nodes as a fraction": ({"nodes": 1.5}, "nodes", "1.5", "give a whole number from 1 to 100000"),
    "nodes as a truth value": ({"nodes": True}, "nodes", True, "give a whole number from 1 to 100000"),
    "no nodes": ({"nodes": 0}, "nodes", 0, "give a whole number from 1 to 100000"),
    "nodes as a list": ({"nodes": [1]}, "nodes", "[1]", "give a whole number from 1 to 100000"),
    "nodes and gpus": ({"gpus": 2}, "nodes", 32, "give nodes or gpus, not both"),
    "neither": ({"nodes": None}, "nodes", None, "give nodes or gpus"),
    "a switch as text": ({"held": "yes"}, "held", "yes", "give true or false"),
    "a field that does not exist": ({"node": 3}, "node", 3, "there is no such field; give any of: nodes, gpus"),
    "priority out of range": ({"priority": 1001}, "priority", 1001, "give a whole number from -1000 to 1000"),
    "recovery of another kind": ({"recovery": None}, "recovery", None, "give one of: checkpoint, peer"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_value_is_named_with_what_would_be_right(user: Api, cluster: str, case: str) -> None:
    fields, field, value, expected = BAD[case]
    refused = user.post(JOBS, job(**fields))
    assert (refused.status, refused.headers["Content-Type"], refused.body["code"]) == (422, "application/problem+json", "invalid")
    error = next(error for error in refused.body["errors"] if error["field"] == field)
    assert error["value"] == value
    assert error["expected"].startswith(expected)


def test_all_wrong_values_are_named_at_once(user: Api, cluster: str) -> None:
    refused = user.post(JOBS, {"kind": "x", "nodes": -1, "extra": 1})
    assert {error["field"] for error in refused.body["errors"]} == {"name", "kind", "nodes", "extra"}


@pytest.mark.parametrize("body", [[], "text", 5, None])
def test_a_body_that_is_no_object_is_refused(user: Api, cluster: str, body: Any) -> None:
    refused = user.send(JOBS, json.dumps(body).encode())
    assert refused.status == 422
    assert [error["field"] for error in refused.body["errors"]] in ([""], ["name", "kind"])


def test_what_could_never_fit_is_refused_with_what_would(user: Api, cluster: str) -> None:
    refused = user.post(JOBS, job(nodes=100))
    assert (refused.status, refused.body["code"]) == (422, "infeasible")
    assert refused.body["errors"][0]["field"] == "nodes"
    assert refused.body["errors"][0] == {"field": "nodes", "value": 100, "expected": "give at most 64 nodes"}
    assert submit(user, nodes=64)


def test_a_job_sent_again_under_its_key_is_submitted_once(user: Api, cluster: str) -> None:
    first, again = (user.post(JOBS, job(), **{"Idempotency-Key": "k1"}) for _ in range(2))
    other = user.post(JOBS, job(name="other"), **{"Idempotency-Key": "k1"})
    assert first.body["id"] == again.body["id"]
    assert (first.status, again.status, other.status, other.body["code"]) == (201, 201, 409, "source-conflict")
    assert len(user.get(JOBS).body["items"]) == 1


@pytest.mark.parametrize("key", ["", "x" * 101, "a\tb"])
def test_a_key_that_no_log_could_hold_is_refused(user: Api, cluster: str, key: str) -> None:
    assert user.post(JOBS, job(), **{"Idempotency-Key": key}).body["errors"][0]["field"] == "Idempotency-Key"


def test_verbs_go_with_the_jobs_state(user: Api, cluster: str) -> None:
    name = submit(user)
    held = user.post(f"{JOBS}{name}/hold/", {"reason": "budget"})
    assert (held.status, held.body["state"], held.body["reason"]) == (200, "held", "budget")
    again = user.post(f"{JOBS}{name}/hold/")
    assert (again.status, again.body["code"]) == (409, "state")
    assert user.post(f"{JOBS}{name}/release/").body["state"] == "waiting"
    assert user.post(f"{JOBS}{name}/cancel/").body["state"] == "cancelled"
    gone = user.post(f"{JOBS}{name}/cancel/")
    assert (gone.status, gone.body["detail"]) == (409, f"job {name} has already been cancelled")
    assert user.post(f"{JOBS}j999999/cancel/").status == 404


def test_cancelling_placed_work_asks_it_to_stop(user: Api, cluster: str) -> None:
    name = submit(user)
    run_pass(cluster)
    assert user.post(f"{JOBS}{name}/cancel/").body["state"] == "stopping"


def test_lists_know_jobs_at_once_and_for_ever(user: Api, cluster: str) -> None:
    first = submit(user, name="first", nodes=16)
    assert [item["id"] for item in user.get(JOBS).body["items"]] == [first]  # before any projection ran
    run_pass(cluster)
    second = submit(user, name="second", nodes=1, kind="batch", team="blue")
    project_all()
    third = submit(user, name="third", nodes=None, gpus=1)
    finish(first)
    items = user.get(JOBS).body["items"]
    assert [(item["id"], item["state"]) for item in items] == [(third, "submitted"), (second, "submitted"), (first, "finished")]
    project_all()
    done = user.get(f"{JOBS}?state=finished").body["items"]
    assert [(item["id"], item["name"], item["ended_at_us"]) for item in done] == [(first, "first", 10**15)]
    assert [item["id"] for item in user.get(f"{JOBS}?team=blue&kind=batch").body["items"]] == [second]
    assert user.get(f"{JOBS}{first}/").body["state"] == "finished"


def test_lists_go_on_from_a_job(user: Api, cluster: str) -> None:
    names = [submit(user, nodes=1) for _ in range(5)]
    project_all()
    seen: list[str] = []
    path: str | None = f"{JOBS}?limit=2"
    while path:
        page = user.get(path).body
        assert len(page["items"]) <= 2
        seen += [item["id"] for item in page["items"]]
        path = f"{JOBS}?limit=2&before={page['next']}" if page["next"] else None
    assert seen == names[::-1]


@pytest.mark.parametrize("query", ["state=lost", "limit=0", "limit=x", "before=5", "before=j", "kind=%00", "team=%00", "page=2"])
def test_a_query_that_makes_no_sense_is_named(user: Api, cluster: str, query: str) -> None:
    refused = user.get(f"{JOBS}?{query}")
    assert refused.status == 422
    assert refused.body["errors"][0]["field"] == query.split("=")[0]


def test_the_preview_cuts_as_the_engine_does(user: Api, cluster: str) -> None:
    wanted = user.get(f"{JOBS}preview/?nodes=32&name=x&kind=training").body
    assert (wanted["slices"], wanted["fits_now"]) == ([16, 16], True)
    assert "there is room now" in wanted["text"]
    submit(user, nodes=64)
    run_pass(cluster)
    later = user.get(f"{JOBS}preview/?nodes=24").body
    assert (later["slices"], later["fits_now"]) == ([12, 12], False)
    assert "would wait now: needs 2 slices of 12" in later["text"]
    assert user.get(f"{JOBS}preview/?gpus=2").body["gpus"] == 2
    assert [error["field"] for error in user.get(f"{JOBS}preview/?nodes=24&slice_sise=8").body["errors"]] == ["slice_sise"]


def test_the_preview_says_what_a_quota_holds_as_the_pass_does(user: Api, cluster: str) -> None:
    policy = Policy(quotas=(Quota(team="red", gpus=128, borrow=0),))
    assert policy_change(cluster=cluster, policy=policy, expected=1, by="op", reason="teams") is None
    submit(user, nodes=24, team="red")
    run_pass(cluster)
    foreseen = user.post(f"{JOBS}preview/", {"nodes": 16, "team": "red"}).body
    assert (foreseen["fits_now"], foreseen["code"], foreseen["counts"]["used"]) == (False, "quota", 96)
    waiting = submit(user, nodes=16, team="red")
    run_pass(cluster)
    told = user.get(f"{JOBS}{waiting}/").body["waiting"]
    assert told["text"] == "held by the quota of team red: 96 of 128 GPUs in use, and it asks for 64; it could borrow 0"
    assert foreseen["text"].endswith(f"would wait now: {told['text']}")
    assert (told["code"], told["counts"]) == (foreseen["code"], foreseen["counts"])


def test_the_preview_says_what_can_never_be(user: Api, cluster: str) -> None:
    assert user.get(f"{JOBS}preview/?nodes=1000").body["code"] == "infeasible"
    assert user.get(f"{JOBS}preview/?nodes=24&slice_size=16").body["code"] == "infeasible"
    assert user.get(f"{JOBS}preview/?nodes=24&slice_size=16&tail=true").body["slices"] == [16, 8]
    assert user.get(f"{JOBS}preview/").body["errors"][0]["field"] == "nodes"
    assert user.get(f"{JOBS}preview/?nodes=many").body["errors"][0]["field"] == "nodes"
