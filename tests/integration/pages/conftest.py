"""A cluster of four racks, and browsers of people who look at it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from frontend.accounts.roles import Role
from tests.support.lab import make_lab
from tests.support.people import make_user


@pytest.fixture
def cluster(db: None) -> str:
    """Four racks, all healthy and empty."""
    return make_lab()


@pytest.fixture
def admin(db: None) -> Client:
    """The browser of an administrator."""
    return _signed_in(make_user("ada", Role.ADMIN))


@pytest.fixture
def user(db: None) -> Client:
    """The browser of somebody who may look, and submit jobs."""
    return _signed_in(make_user("bob", Role.RESEARCHER))


def _signed_in(who: User) -> Client:
    client = Client()
    client.force_login(who)
    return client
