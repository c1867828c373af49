"""A cluster of four racks, and people who may look at it or change it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from frontend.accounts.roles import Role
from tests.api.calls import Api
from tests.support.lab import make_lab
from tests.support.people import make_user


@pytest.fixture
def cluster(db: None) -> str:
    """Four racks, all healthy and empty."""
    return make_lab()


@pytest.fixture
def admin(db: None) -> Api:
    """An administrator."""
    return _signed_in(make_user("ada", Role.ADMIN))


@pytest.fixture
def user(db: None) -> Api:
    """Somebody who may look, and submit jobs."""
    return _signed_in(make_user("bob", Role.RESEARCHER))


@pytest.fixture
def anonymous(db: None) -> Api:
    """Nobody."""
    return Api(Client())


def _signed_in(who: User) -> Api:
    client = Client()
    client.force_login(who)
    return Api(client)
