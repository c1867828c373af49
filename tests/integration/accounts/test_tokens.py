"""Tokens of programs: what is kept of them, what they may, and when they end."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from clusters.domain.errors import InvalidRequest
from clusters.eventlog.store import create_cluster
from frontend.accounts.limits import TRIES, TryLimit
from frontend.accounts.models import ApiToken
from frontend.accounts.roles import Role, grant
from frontend.accounts.tokens import USE_NOTED_EVERY, bad_tokens, token_create, token_find
from tests.support.lab import NAME, make_lab
from tests.support.people import browser_of, make_user

pytestmark = pytest.mark.django_db

CLUSTERS = "/api/v1/clusters/"
JOBS = f"{CLUSTERS}{NAME}/jobs/"
JOB = {"name": "x", "kind": "batch", "nodes": 2}


@pytest.fixture(autouse=True)
def fresh_limit() -> Iterator[None]:
    bad_tokens.forget()
    yield
    bad_tokens.forget()


def program(secret: str) -> Client:
    return Client(enforce_csrf_checks=True, headers={"authorization": f"Bearer {secret}"})


def status(secret: str, path: str = CLUSTERS) -> int:
    return program(secret).get(path).status_code


def submit(secret: str) -> Any:
    return program(secret).post(JOBS, json.dumps(JOB), content_type="application/json")


def test_the_database_keeps_a_digest_and_how_the_token_begins() -> None:
    row, secret = token_create(user=make_user("ada", Role.VIEWER), label="ci", role=Role.VIEWER)
    stored = json.dumps(list(ApiToken.objects.values()), default=str)
    assert secret not in stored
    assert secret.startswith(row.prefix)
    assert len(secret) > len(row.prefix) + 30
    assert token_find(secret) == row


def test_a_program_acts_as_its_owner_without_a_csrf_token() -> None:
    make_lab()
    _, secret = token_create(user=make_user("ada", Role.ADMIN), label="ci", role=Role.RESEARCHER)
    answer = submit(secret)
    assert (answer.status_code, answer.json()["submitted_by"]) == (201, "ada")


def test_a_token_has_at_most_the_role_that_its_owner_has_now() -> None:
    make_lab()
    ada = make_user("ada", Role.ADMIN)
    _, secret = token_create(user=ada, label="ci", role=Role.OPERATOR)
    assert submit(secret).status_code == 201
    grant(ada, Role.VIEWER)
    assert submit(secret).status_code == 403
    assert status(secret) == 200
    with pytest.raises(InvalidRequest, match=r"role: 'operator' .* up to viewer"):
        token_create(user=ada, label="more", role=Role.OPERATOR)
    ada.groups.clear()
    assert status(secret) == 403


def test_a_token_for_one_cluster_sees_no_other() -> None:
    make_lab()
    create_cluster("other", by="test")
    _, secret = token_create(user=make_user("ada", Role.VIEWER), label="ci", role=Role.VIEWER, cluster=NAME)
    listed: Any = program(secret).get(CLUSTERS)
    assert [item["name"] for item in listed.json()["items"]] == [NAME]
    assert status(secret, f"{CLUSTERS}{NAME}/") == 200
    refused: Any = program(secret).get(f"{CLUSTERS}other/")
    assert (refused.status_code, refused.json()["code"]) == (403, "permission-denied")
    assert status(secret, f"{CLUSTERS}nowhere/") == 403


def test_revoked_expired_and_of_a_deactivated_owner_it_is_no_token() -> None:
    ada = make_user("ada", Role.ADMIN)
    tokens = {label: token_create(user=ada, label=label, role=Role.VIEWER) for label in ("revoked", "expired", "good")}
    ApiToken.objects.filter(label="revoked").update(revoked_at=timezone.now())
    ApiToken.objects.filter(label="expired").update(expires_at=timezone.now())
    assert {label: status(secret) for label, (_, secret) in tokens.items()} == {"revoked": 401, "expired": 401, "good": 200}
    User.objects.update(is_active=False)
    assert status(tokens["good"][1]) == 401


def test_a_bad_token_is_refused_even_beside_a_good_session() -> None:
    browser = browser_of(make_user("ada", Role.ADMIN))
    answer: Any = browser.get(CLUSTERS, headers={"authorization": "Bearer sk_wrong"})
    assert (answer.status_code, answer.json()["code"]) == (401, "bad-token")
    assert answer.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    assert browser.get("/", headers={"authorization": "Bearer sk_wrong"}).status_code == 200  # a page asks for the session only


@pytest.mark.parametrize("header", ["Basic YTpi", "sk_x", "Bearer", ""])
def test_another_kind_of_authorization_is_no_token(header: str) -> None:
    answer: Any = Client(headers={"authorization": header}).get(CLUSTERS)
    assert (answer.status_code, answer.json()["code"]) == (401, "not-authenticated")


@pytest.mark.parametrize("secret", ["", "sk_", "other_kind", "sk_" + "x" * 10_000, "sk_\x00", "sk_é"])
def test_what_is_no_token_is_refused_whatever_it_is(secret: str) -> None:
    assert token_find(secret) is None


def test_after_many_bad_tokens_a_network_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    _, secret = token_create(user=make_user("ada", Role.ADMIN), label="ci", role=Role.VIEWER)
    for _ in range(TRIES):
        assert status(secret) == 200
        assert status("sk_wrong") == 401
    answer: Any = program("sk_wrong").get(CLUSTERS)
    assert (answer.status_code, answer.json()["code"]) == (429, "too-many-tries")
    assert 0 < int(answer.headers["Retry-After"]) <= 60
    elsewhere: Any = program(secret).get(CLUSTERS, REMOTE_ADDR="192.0.2.7")
    assert elsewhere.status_code == 200


def test_looking_counts_nothing_and_a_window_ends() -> None:
    now = [0.0]
    limit = TryLimit(most=2, window=10, clock=lambda: now[0])
    assert [limit.blocked("192.0.2.1") for _ in range(5)] == [0.0] * 5
    limit.wait("192.0.2.1")
    assert limit.blocked("192.0.2.1") == 0
    limit.wait("192.0.2.1")
    now[0] = 4
    assert (limit.blocked("192.0.2.1"), limit.blocked("192.0.2.2")) == (6, 0)
    now[0] = 10
    assert limit.blocked("192.0.2.1") == 0


def test_the_last_use_is_noted_but_not_each_time() -> None:
    _, secret = token_create(user=make_user("ada", Role.VIEWER), label="ci", role=Role.VIEWER)
    assert ApiToken.objects.get().last_used_at is None
    status(secret)
    first = ApiToken.objects.get().last_used_at
    status(secret)
    assert first is not None
    assert ApiToken.objects.get().last_used_at == first
    ApiToken.objects.update(last_used_at=first - USE_NOTED_EVERY)
    status(secret)
    again = ApiToken.objects.get().last_used_at
    assert again is not None
    assert again >= first


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"label": ""}, "label"),
        ({"label": "a\nb"}, "label"),
        ({"days": 0}, "days"),
        ({"days": 366}, "days"),
        ({"cluster": "no"}, "cluster"),
    ],
)
def test_what_makes_no_token_is_named(wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        token_create(**{"user": make_user("ada", Role.VIEWER), "label": "ci", "role": Role.VIEWER, **wrong})
    assert refused.value.field == field
    assert not ApiToken.objects.exists()


# ---- the command


def test_the_command_prints_the_token_alone() -> None:
    make_user("ada", Role.OPERATOR)
    out = io.StringIO()
    call_command("make_token", "--user", "ada", "--role", "viewer", "--days", "2", stdout=out)
    row = ApiToken.objects.get()
    assert token_find(out.getvalue().rstrip("\n")) == row
    assert row.role == "viewer"
    assert timedelta(days=1, hours=23) < row.expires_at - timezone.now() <= timedelta(days=2)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--user", "eve"], "no active user 'eve'"),
        (["--user", "bob"], "no role yet"),
        (["--user", "ada", "--role", "admin"], "role"),
        (["--user", "ada", "--days", "0"], "days"),
    ],
)
def test_the_command_says_what_is_wrong(options: list[str], told: str) -> None:
    make_user("ada", Role.OPERATOR)
    make_user("bob", None)
    with pytest.raises(CommandError, match=told):
        call_command("make_token", *options)


# ---- the page


def test_a_token_is_made_shown_once_and_revoked_on_the_page() -> None:
    browser = browser_of(make_user("ada", Role.RESEARCHER))
    page = browser.post("/tokens/", {"label": "ci", "role": "researcher", "cluster": "", "days": "7"}).content.decode()
    secret = page.split('<pre class="secret">')[1].split("</pre>")[0]
    assert status(secret) == 200
    assert secret not in browser.get("/tokens/").content.decode()
    browser.post(f"/tokens/{ApiToken.objects.get().pk}/revoke/")
    assert status(secret) == 401
    assert "revoked" in browser.get("/tokens/").content.decode()


@pytest.mark.parametrize("sent", [{"role": "operator"}, {"days": "x"}, {"days": "9" * 400}, {"label": " "}, {"cluster": "no"}])
def test_the_page_says_what_is_wrong(sent: dict[str, str]) -> None:
    browser = browser_of(make_user("ada", Role.RESEARCHER))
    answer = browser.post("/tokens/", {"label": "ci", "role": "viewer", "cluster": "", "days": "7", **sent})
    assert (answer.status_code, ApiToken.objects.exists()) == (422, False)
    assert next(iter(sent)) in answer.content.decode().split('role="alert">')[1].split("</p>")[0]


def test_others_see_and_revoke_only_their_own_and_administrators_all() -> None:
    row, secret = token_create(user=make_user("ada", Role.RESEARCHER), label="of ada", role=Role.VIEWER)
    bob, admin = browser_of(make_user("bob", Role.OPERATOR)), browser_of(make_user("eve", Role.ADMIN))
    assert "of ada" not in bob.get("/tokens/").content.decode()
    assert bob.post(f"/tokens/{row.pk}/revoke/").status_code == 403
    assert status(secret) == 200
    assert "of ada" in admin.get("/tokens/").content.decode()
    assert admin.post(f"/tokens/{row.pk}/revoke/").status_code == 302
    assert status(secret) == 401
