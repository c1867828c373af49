"""Writes that are only rehearsed, writes that are sent twice, and priorities."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.eventlog.live import live
from scheduling.services import run_pass
from tests.api.calls import Api, job
from tests.support.lab import finish

pytestmark = pytest.mark.django_db

LAB = "clusters/lab/"
JOBS = f"{LAB}jobs/"
NODE = f"{LAB}nodes/r1-n01/"


def head() -> int:
    return live("lab").catch_up().seq


def submit(api: Api, **fields: Any) -> str:
    return str(api.post(JOBS, job(**fields)).body["id"])


#: Path, body, and the kinds of events that it leads to; JOB is a waiting job.
WRITES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "submit": (JOBS, job(name="another"), ["JobSubmitted"]),
    "submit many": (f"{JOBS}bulk/", {"jobs": [job(name="x"), job(name="y")]}, ["JobSubmitted", "JobSubmitted"]),
    "hold": (f"{JOBS}JOB/hold/", {"reason": "budget"}, ["JobHeld"]),
    "cancel": (f"{JOBS}JOB/cancel/", {}, ["JobCancelled"]),
    "priority": (f"{JOBS}JOB/priority/", {"priority": 7}, ["JobChanged"]),
    "fail": (f"{NODE}fail/", {"reason": "smoke"}, ["NodeFailed"]),
    "drain": (f"{NODE}drain/", {}, ["NodeDraining"]),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_rehearsal_tells_the_events_and_stores_none(admin: Api, cluster: str, write: str) -> None:
    path, body, kinds = WRITES[write]
    path = path.replace("JOB", submit(admin))
    before = head()
    told = admin.post(f"{path}?dry_run=true", body, **{"Idempotency-Key": "k"})
    assert (told.status, told.body["dry_run"], told.body["at_seq"]) == (200, True, before)
    assert [event["kind"] for event in told.body["events"]] == kinds
    assert head() == before
    assert admin.post(path, body, **{"Idempotency-Key": "k"}).status in (200, 201)  # the rehearsal has not used the key up
    done = admin.get(f"{LAB}events/?after={before}").body["items"]
    assert [(event["kind"], event["version"], event["payload"]) for event in done] == [
        (event["kind"], event["version"], event["payload"]) for event in told.body["events"]
    ]


@pytest.mark.parametrize("write", WRITES)
def test_a_write_sent_again_under_its_key_is_done_once(admin: Api, cluster: str, write: str) -> None:
    path, body, kinds = WRITES[write]
    path = path.replace("JOB", submit(admin))
    before = head()
    first, again = (admin.post(path, body, **{"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status, first.body) == (again.status, again.body)
    assert head() == before + len(kinds)
    other = admin.post(f"{LAB}nodes/r4-n18/drain/", {"reason": "something else"}, **{"Idempotency-Key": "k"})
    assert (other.status, other.body["code"]) == (409, "source-conflict")
    assert head() == before + len(kinds)


def test_what_was_done_stays_done_once_the_cluster_has_gone_on(admin: Api, cluster: str) -> None:
    key = {"Idempotency-Key": "k"}
    assert admin.post(f"{NODE}fail/", **key).body["condition"] == "failed"
    admin.post(f"{NODE}repair/")
    assert admin.post(f"{NODE}fail/", **key).body["condition"] == "healthy"  # as it is now
    name = submit(admin)
    admin.post(f"{JOBS}{name}/cancel/", **{"Idempotency-Key": "c"})
    assert admin.post(f"{JOBS}{name}/cancel/", **{"Idempotency-Key": "c"}).status == 200
    assert admin.post(f"{JOBS}{name}/cancel/").status == 409


def test_keys_are_each_users_own(admin: Api, user: Api, cluster: str) -> None:
    names = {api.post(JOBS, job(), **{"Idempotency-Key": "k"}).body["id"] for api in (admin, user)}
    assert len(names) == 2


def test_a_rehearsal_is_refused_as_the_write_would_be(admin: Api, user: Api, cluster: str) -> None:
    assert admin.post(f"{JOBS}?dry_run=true", job(nodes=100)).body["code"] == "infeasible"
    assert admin.post(f"{NODE}repair/?dry_run=true").body["code"] == "state"
    assert admin.post(f"{JOBS}j999999/cancel/?dry_run=true").status == 404
    assert user.post(f"{NODE}fail/?dry_run=true").status == 403
    assert admin.post("clusters/other/jobs/?dry_run=true", job()).body["code"] == "unknown-cluster"
    for query in ("dry_run=maybe", "dryrun=true"):
        assert admin.post(f"{JOBS}?{query}", job()).body["errors"][0]["field"] == query.split("=")[0]
    assert not live("lab").catch_up().jobs


def test_a_placed_job_that_is_cancelled_would_have_to_stop(admin: Api, cluster: str) -> None:
    name = submit(admin)
    run_pass(cluster)
    events = admin.post(f"{JOBS}{name}/cancel/?dry_run=true").body["events"]
    told = [(event["kind"], event["subject"], len(event["payload"]["nodes"])) for event in events]
    assert told == [("StopRequested", name, 32), ("WorkStopped", name, 32)], "no engine runs it, so it has stopped at once"


# ---- priority


def test_the_job_with_the_higher_priority_starts_first(user: Api, cluster: str) -> None:
    first, second = submit(user, nodes=64), submit(user, nodes=64)
    changed = user.post(f"{JOBS}{second}/priority/", {"priority": 10})
    assert (changed.status, changed.body["priority"]) == (200, 10)
    run_pass(cluster)
    assert [user.get(f"{JOBS}{name}/").body["state"] for name in (first, second)] == ["waiting", "placed"]
    assert [(item["id"], item["priority"]) for item in user.get(JOBS).body["items"]] == [(second, 10), (first, 0)]


@pytest.mark.parametrize("body", [{}, {"priority": None}, {"priority": "5"}, {"priority": 1001}, {"priority": 1.5}, {"priority": True}])
def test_a_priority_is_a_number_of_the_range(user: Api, cluster: str, body: dict[str, Any]) -> None:
    refused = user.post(f"{JOBS}{submit(user)}/priority/", body)
    assert (refused.status, refused.body["errors"][0]["field"]) == (422, "priority")
    assert refused.body["errors"][0]["expected"] == "give a whole number from -1000 to 1000"


def test_a_job_that_has_ended_has_no_place_in_the_queue(user: Api, cluster: str) -> None:
    name = submit(user)
    run_pass(cluster)
    finish(name)
    refused = user.post(f"{JOBS}{name}/priority/", {"priority": 1})
    assert (refused.status, refused.body["code"], refused.body["detail"]) == (409, "state", f"job {name} has already finished")
    assert user.post(f"{JOBS}j999999/priority/", {"priority": 1}).status == 404


def test_the_priority_of_somebody_elses_job_is_an_operators(admin: Api, user: Api, cluster: str) -> None:
    name = submit(admin)
    assert user.post(f"{JOBS}{name}/priority/", {"priority": 1}).body["code"] == "permission-denied"
    assert admin.post(f"{JOBS}{name}/priority/", {"priority": 1}).status == 200
