"""Who has been ended is out, nothing is changed without the CSRF token, and no request is answered with a 500.

That nobody gets in without a session is held by test_roles.py.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusters.domain.errors import BrokenInvariant, UnknownEvent
from frontend.accounts.roles import Role
from frontend.api import clusters
from frontend.api.parsers import MOST_BYTES, MOST_DEPTH
from tests.api.calls import BASE, Api, job
from tests.support.people import make_user

pytestmark = pytest.mark.django_db

JOBS = "clusters/lab/jobs/"


def test_an_ended_account_has_no_session(client: Client, cluster: str) -> None:
    who = make_user("eve", Role.VIEWER)
    client.force_login(who)
    assert client.get(f"/{BASE[1:]}clusters/").status_code == 200
    User.objects.update(is_active=False)
    assert client.get(f"/{BASE[1:]}clusters/").status_code == 401


def test_nothing_changes_without_the_csrf_token(cluster: str) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.create_superuser("ada"))
    for path in (JOBS, "clusters/lab/nodes/r1-n01/fail/", "clusters/lab/inventory/"):
        refused: Any = strict.post(BASE + path, json.dumps(job()), content_type="application/json")
        assert (refused.status_code, refused.json()["code"]) == (403, "permission-denied")
    page: Any = strict.get("/clusters/lab/")
    token = page.content.decode().split('data-csrf="')[1].split('"')[0]
    done: Any = strict.post(BASE + JOBS, json.dumps(job()), content_type="application/json", headers={"X-CSRFToken": token})
    assert done.status_code == 201


def test_a_path_that_is_not_there_is_a_problem_too(user: Api, anonymous: Api) -> None:
    missing = user.get("nothing/here/")
    assert (missing.status, missing.headers["Content-Type"], missing.body["code"]) == (404, "application/problem+json", "not-found")
    assert anonymous.get("nothing/here/").status == 401


def test_a_method_that_is_not_there_is_a_problem_too(user: Api, cluster: str) -> None:
    refused = user.post("clusters/lab/snapshot/")
    assert (refused.status, refused.body["code"]) == (405, "method-not-allowed")


UNREADABLE: dict[str, bytes] = {
    "nothing that is JSON": b"{nodes: 3}",
    "half of it": b'{"name": "x"',
    "not UTF-8": b'{"name": "\xff"}',
    "half a character": b'{"name": "\\ud800"}',
    "a field twice": b'{"name": "x", "nodes": 1, "nodes": 2}',
    "no number": b'{"nodes": NaN}',
    "infinity": b'{"nodes": Infinity}',
    "too deep": b"[" * (MOST_DEPTH + 1) + b"]" * (MOST_DEPTH + 1),
    "much too deep": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "an endless number": b'{"nodes": ' + b"9" * 5000 + b"}",
    "a quote that is never closed": b'{"' + b'\\"' * 20_000,
    "a backslash at the end": b'{"' + b'\\"' * 20_000 + b"\\",
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_body_that_cannot_be_read_is_refused(user: Api, cluster: str, case: str) -> None:
    """R44."""
    refused = user.send(JOBS, UNREADABLE[case])
    assert (refused.status, refused.body["code"]) == (400, "unreadable")


def test_brackets_in_texts_are_no_depth(user: Api, cluster: str) -> None:
    assert user.post(JOBS, job(name='[[[[[[[[[[[[[[[[["\\'[:17])).status == 201


def test_a_body_that_is_too_large_is_refused(user: Api, cluster: str) -> None:
    """R44."""
    refused = user.send(JOBS, b'{"name": "' + b"x" * MOST_BYTES + b'"}')
    assert (refused.status, refused.body["code"]) == (413, "too-large")


def test_a_body_of_another_type_is_refused(user: Api, cluster: str) -> None:
    assert user.send(JOBS, b"name=x&nodes=3", "application/x-www-form-urlencoded").status == 415


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [
        (UnknownEvent("event 5 is of kind 'Other'"), 503, "unknown-event"),
        (OperationalError("gone"), 503, "unavailable"),
        (BrokenInvariant("node n1 has two owners"), 500, "internal"),
        (KeyError("secret detail"), 500, "internal"),
    ],
)
def test_a_failure_is_a_problem_that_tells_nothing_it_should_not(
    user: Api, cluster: str, monkeypatch: pytest.MonkeyPatch, failure: Exception, status: int, code: str
) -> None:
    """R47: no stack traces in answers."""

    def fail(_: str) -> None:
        raise failure

    monkeypatch.setattr(clusters, "cluster_summary", fail)
    answer = user.get("clusters/lab/")
    assert (answer.status, answer.body["code"]) == (status, code)
    assert "secret" not in json.dumps(answer.body)
    assert ("Retry-After" in answer.headers) == (status == 503)


def test_a_database_that_is_away_before_anybody_could_be_looked_up_is_a_problem_too(
    user: Api, cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(ModelBackend, "get_user", gone)
    for answer in (user.get("clusters/lab/"), user.post(JOBS, {"name": "x", "kind": "batch", "nodes": 1})):
        assert (answer.status, answer.body["code"], answer.headers["Retry-After"]) == (503, "unavailable", "5")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["name", "kind", "nodes", "gpus", "slice_size", "max_slice", "tail", "spares", "priority", "team", "held", "recovery"]
)
SENSIBLE = st.sampled_from([1, 8, 16, 17, 32, "batch", "training", "peer", "x", True, False, None])
FUZZ = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(body=ANYTHING | st.dictionaries(FIELDS, SENSIBLE | ANYTHING, max_size=6))
def test_no_body_is_answered_with_a_500(user: Api, cluster: str, body: Any) -> None:
    text = json.dumps(body)
    for path in (JOBS, f"{JOBS}j000001/cancel/"):
        answer = user.send(path, text.encode("utf-8", "surrogatepass"))
        assert answer.status < 500, answer.body
        assert answer.status == 201 or answer.body["code"]


@FUZZ
@given(
    content=st.binary(max_size=200),
    content_type=st.sampled_from(["application/json", "application/yaml", "multipart/form-data", "", "x", "a/b;c"]),
)
def test_no_bytes_are_answered_with_a_500(admin: Api, cluster: str, content: bytes, content_type: str) -> None:
    for path in (JOBS, "clusters/lab/inventory/", "clusters/lab/nodes/r1-n01/fail/"):
        answer = admin.send(path, content, content_type)
        assert answer.status < 500, answer.body


@FUZZ
@given(query=st.dictionaries(FIELDS | st.sampled_from(["limit", "after", "before", "subject", "state"]), st.text(max_size=12), max_size=4))
def test_no_query_is_answered_with_a_500(user: Api, cluster: str, query: dict[str, str]) -> None:
    for path in (JOBS, f"{JOBS}preview/", "clusters/lab/events/", "clusters/lab/nodes/"):
        answer: Any = user.client.get(BASE + path, query)
        assert answer.status_code < 500, answer.content


@FUZZ
@given(name=st.text(min_size=1, max_size=20))
def test_no_name_is_answered_with_a_500(user: Api, cluster: str, name: str) -> None:
    from urllib.parse import quote

    quoted = quote(name.encode("utf-8", "surrogatepass"), safe="")
    for path in (f"clusters/{quoted}/", f"clusters/lab/nodes/{quoted}/", f"clusters/lab/racks/{quoted}/", f"{JOBS}{quoted}/"):
        answer: Any = user.client.get(BASE + path)
        assert answer.status_code in (200, 404), answer.content


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_path_without_its_last_slash_is_told_with_it(admin: Api, cluster: str, method: str) -> None:
    missing = getattr(admin, method)(f"clusters/{cluster}/jobs")
    assert (missing.status, missing.body["code"]) == (404, "not-found")
    assert missing.body["detail"].endswith(f"/api/v1/clusters/{cluster}/jobs/")
    assert getattr(admin, method)("nowhere").body["detail"] == "There is nothing at this path"
