"""Users with roles."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.test import Client

from frontend.accounts.roles import Role, grant


def make_user(name: str, role: Role | None) -> User:
    """Somebody without a password, and with a role unless it is None."""
    user = User.objects.create_user(name)
    if role is not None:
        grant(user, role)
    return user


def browser_of(user: User) -> Client:
    """A browser in which the user is signed in."""
    client = Client()
    client.force_login(user)
    return client
