from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import Settings


@pytest.fixture
def headers(client: Client) -> dict[str, str]:
    return dict(client.get("/login/").items())


def test_pages_allow_only_their_own_files(headers: dict[str, str]) -> None:
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert policy.pop("img-src") == "'self' data:"
    assert {policy.pop(name) for name in ("default-src", "frame-ancestors", "base-uri")} == {"'none'"}
    assert set(policy.values()) == {"'self'"}
    assert set(policy) == {"script-src", "style-src", "font-src", "connect-src", "form-action"}


def test_pages_are_not_framed_sniffed_or_referred(headers: dict[str, str]) -> None:
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_an_unknown_host_is_refused(client: Client, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    assert client.get("/login/", headers={"host": "localhost"}).status_code == 200
    assert client.get("/login/", headers={"host": "evil.example"}).status_code == 400
