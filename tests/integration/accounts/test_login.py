"""Signing in by a link, and out."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from frontend.accounts.limits import TRIES, TryLimit, login_limit, network_of
from frontend.accounts.links import FIRST_USER, first_run_link, link_consume, link_create
from frontend.accounts.models import LoginToken

BASE = "http://testserver"


@pytest.fixture(autouse=True)
def fresh_limit() -> Iterator[None]:
    login_limit.forget()
    yield
    login_limit.forget()


def token_of(link: str) -> str:
    return parse_qs(urlsplit(link).query)["token"][0]


def make_user(name: str = "ada") -> User:
    user = User(username=name)
    user.set_unusable_password()
    user.save()
    return user


@pytest.mark.django_db
def test_the_first_run_makes_an_administrator_without_a_password() -> None:
    link = first_run_link(BASE)
    user = User.objects.get()
    assert (user.username, user.is_superuser, user.has_usable_password()) == (FIRST_USER, True, False)
    assert link.startswith(f"{BASE}/login/?token=")


@pytest.mark.django_db
def test_each_start_prints_a_working_link_until_somebody_has_signed_in(client: Client) -> None:
    first_run_link(BASE)
    link = first_run_link(BASE)
    assert client.post("/login/", {"token": token_of(link)}).status_code == 302
    again = first_run_link(BASE)
    assert "token" not in again
    assert "login_link" in again
    assert again.startswith(f"{BASE}/ ")


@pytest.mark.django_db
def test_fetching_the_link_does_not_use_it_up_and_posting_does(client: Client) -> None:
    link = link_create(user=make_user(), base_url=BASE)
    for _ in range(2):
        page = client.get(link)
        assert page.status_code == 200
        assert token_of(link) in page.content.decode()
    assert client.post("/login/", {"token": token_of(link)}).url == "/"  # type: ignore[attr-defined]
    assert client.session["_auth_user_id"] == str(User.objects.get().pk)

    other = Client()
    refused = other.post("/login/", {"token": token_of(link)})
    assert refused.status_code == 403
    assert "was used, replaced or has expired" in refused.content.decode()
    assert "_auth_user_id" not in other.session
    opened = other.get(link)  # whoever opens it again need not press a button to be told
    assert opened.status_code == 403
    assert "was used, replaced or has expired" in opened.content.decode()
    assert token_of(link) not in opened.content.decode()


@pytest.mark.django_db
def test_the_database_keeps_no_token() -> None:
    token = token_of(link_create(user=make_user(), base_url=BASE))
    row = LoginToken.objects.get()
    assert token not in (row.digest, str(row))
    assert len(row.digest) == 64


@pytest.mark.django_db
def test_a_newer_link_replaces_the_older_one_of_the_same_user_only() -> None:
    ada, bob = make_user("ada"), make_user("bob")
    old, bobs, new = (token_of(link_create(user=user, base_url=BASE)) for user in (ada, bob, ada))
    assert link_consume(token=old) is None
    assert link_consume(token=new) == ada
    assert link_consume(token=bobs) == bob


@pytest.mark.django_db
def test_a_link_expires_after_a_day() -> None:
    token = token_of(link_create(user=make_user(), base_url=BASE))
    assert timedelta(hours=23, minutes=59) < LoginToken.objects.get().expires_at - timezone.now() <= timedelta(hours=24)
    LoginToken.objects.update(expires_at=timezone.now())
    assert link_consume(token=token) is None


@pytest.mark.django_db
def test_a_link_of_a_user_who_was_deactivated_signs_nobody_in() -> None:
    user = make_user()
    token = token_of(link_create(user=user, base_url=BASE))
    User.objects.update(is_active=False)
    assert link_consume(token=token) is None


@pytest.mark.django_db(transaction=True)
def test_of_several_browsers_at_once_one_gets_in() -> None:
    token = token_of(link_create(user=make_user(), base_url=BASE))

    def consume(_: int) -> bool:
        try:
            return link_consume(token=token) is not None
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=4) as pool:
        assert sum(pool.map(consume, range(8))) == 1


@pytest.mark.django_db
def test_the_session_gets_a_new_csrf_secret_and_leads_on_to_the_page_asked_for(client: Client) -> None:
    link = link_create(user=make_user(), base_url=BASE)
    client.get(link)
    before = client.cookies["csrftoken"].value
    answer = client.post("/login/", {"token": token_of(link), "next": "/clusters/demo/jobs/?state=waiting"})
    assert answer.headers["Location"] == "/clusters/demo/jobs/?state=waiting"
    assert client.cookies["csrftoken"].value != before


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil.example", "x" * 5000])
def test_a_login_leads_nowhere_else(client: Client, path: str) -> None:
    link = link_create(user=make_user(), base_url=BASE)
    assert path not in client.get("/login/", {"next": path}).content.decode()
    assert client.post("/login/", {"token": token_of(link), "next": path}).headers["Location"] == "/"


@pytest.mark.django_db
def test_the_login_page_is_never_kept_by_caches_and_says_where_links_come_from(client: Client) -> None:
    page = client.get("/login/")
    assert "no-store" in page.headers["Cache-Control"]
    assert ".venv/bin/python manage.py login_link" in page.content.decode()


@pytest.mark.django_db
def test_a_login_without_the_csrf_token_is_refused() -> None:
    link = link_create(user=make_user(), base_url=BASE)
    strict = Client(enforce_csrf_checks=True)
    assert strict.post("/login/", {"token": token_of(link)}).status_code == 403
    assert link_consume(token=token_of(link)) is not None


@pytest.mark.django_db
def test_tries_from_one_network_are_limited_and_others_are_not_held_up(client: Client) -> None:
    link = link_create(user=make_user(), base_url=BASE)
    for _ in range(TRIES):
        assert client.post("/login/", {"token": "guess"}).status_code == 403
    refused = client.post("/login/", {"token": token_of(link)})
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 61
    assert client.post("/login/", {"token": token_of(link)}, REMOTE_ADDR="192.0.2.7").status_code == 302


def test_a_window_of_tries_ends() -> None:
    now = [100.0]
    limit = TryLimit(most=2, window=60, clock=lambda: now[0])
    assert [limit.wait("a"), limit.wait("a"), limit.wait("a"), limit.wait("b")] == [0, 0, 60, 0]
    now[0] += 45
    assert limit.wait("a") == 15
    now[0] += 15
    assert limit.wait("a") == 0


def test_addresses_of_one_ipv6_network_count_together() -> None:
    assert network_of("2001:db8:1:2:3::4") == network_of("2001:db8:1:2:ffff::1") != network_of("2001:db8:1:3::1")
    assert network_of("192.0.2.1") != network_of("192.0.2.2")
    assert network_of("") == ""


@pytest.mark.django_db
def test_logging_out_ends_the_session_and_takes_a_post(client: Client) -> None:
    client.force_login(make_user())
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").headers["Location"] == "/login/"
    assert "_auth_user_id" not in client.session


@pytest.mark.django_db
def test_the_command_prints_a_working_link_for_the_user_named() -> None:
    ada = make_user()
    out = io.StringIO()
    call_command("login_link", "--user", "ada", "--base-url", "https://fleet.example/", stdout=out)
    link = out.getvalue().strip()
    assert link.startswith("https://fleet.example/login/?token=")
    assert link_consume(token=token_of(link)) == ada


@pytest.mark.django_db
def test_the_command_without_a_user_serves_the_first_administrator() -> None:
    out = io.StringIO()
    call_command("login_link", stdout=out)
    assert link_consume(token=token_of(out.getvalue().strip())) == User.objects.get(username=FIRST_USER)


@pytest.mark.django_db
def test_the_command_names_the_users_there_are() -> None:
    make_user("ada")
    with pytest.raises(CommandError, match=r"--user: there is no active user 'eve'; give one of: ada"):
        call_command("login_link", "--user", "eve")


@pytest.mark.django_db
def test_a_link_leads_to_the_address_that_is_served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    (tmp_path / "address").write_text("http://127.0.0.1:8077")
    out = io.StringIO()
    call_command("login_link", stdout=out)
    assert out.getvalue().startswith("http://127.0.0.1:8077/login/?token=")
