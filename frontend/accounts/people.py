"""Users, as administrators make and change them. There are no passwords: a new user gets a link that signs in once."""

from __future__ import annotations

import logging

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import transaction

from clusters.domain.errors import InvalidRequest
from clusters.domain.events import MAX_SOURCE
from clusters.domain.health import PERSON
from frontend.accounts.roles import Role, administrators, grant

security = logging.getLogger("slicekeeper.security")

#: Names that the log's sources tell apart.
MOST_NAME = MAX_SOURCE - len(PERSON)

_valid = UnicodeUsernameValidator()


def user_create(*, name: str, role: Role, by: str) -> User:
    """A new user with a role; raises InvalidRequest."""
    try:
        _valid(name)
    except ValidationError:
        name_fits = False
    else:
        name_fits = len(name) <= MOST_NAME
    if not name_fits:
        raise InvalidRequest("name", name[:MOST_NAME], f"give 1 to {MOST_NAME} letters, digits or any of @ . + - _")
    if User.objects.filter(username__iexact=name).exists():
        raise InvalidRequest("name", name, "there is such a user already; give another name")
    with transaction.atomic():
        user = User.objects.create(username=name, password=make_password(None))
        grant(user, role)
    security.info("user %s made by %s as %s", name, by, role)
    return user


def user_grant(*, user: User, role: Role, by: str) -> None:
    """Another role; raises InvalidRequest for one's own, and for the last administrator's."""
    with transaction.atomic():
        _check(user, by, "role", role.value, leaves=role is not Role.ADMIN)
        grant(user, role)
    security.info("user %s made %s by %s", user.get_username(), role, by)


def user_activate(*, user: User, active: bool, by: str) -> None:
    """Let a user in, or keep them out: sessions and tokens end at once, live pages within a minute. Raises InvalidRequest."""
    with transaction.atomic():
        _check(user, by, "active", str(active).lower(), leaves=not active)
        User.objects.filter(pk=user.pk).update(is_active=active)
    security.info("user %s %s by %s", user.get_username(), "activated" if active else "deactivated", by)


def _check(user: User, by: str, field: str, value: str, *, leaves: bool) -> None:
    """Nobody locks themselves out, or everybody."""
    if user.get_username() == by:
        raise InvalidRequest(field, value, "this is your own account; ask another administrator")
    if leaves and not administrators().exclude(pk=user.pk).exists():
        raise InvalidRequest(field, value, "this is the last administrator; make another one first")
