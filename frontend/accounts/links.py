"""Signing in by a link that works once.

There are no passwords: whoever can start the server, or run its commands, makes links. A link is consumed by POST only, so that a
chat's preview or a browser that fetches ahead does not use it up. A newer link of a user replaces the older ones.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from frontend.accounts.models import LoginToken
from frontend.accounts.roles import Role, administrators, grant

LINK_LIFETIME = timedelta(hours=24)
TOKEN_BYTES = 32

#: The user that a first run makes. It may do everything.
FIRST_USER = "admin"


def first_run_link(base_url: str) -> str:
    """What a starting server prints: a login link until somebody has signed in, then the address and how to get another link."""
    user = first_user()
    if User.objects.filter(last_login__isnull=False).exists():
        return f"{base_url}/ (for another login link: .venv/bin/python manage.py login_link)"
    return link_create(user=user, base_url=base_url)


def address_file() -> Path:
    """Where a server in one process leaves its address, for links that are asked for on the command line."""
    return Path(settings.DATA_DIR) / "address"


def first_user() -> User:
    """The first administrator; where there is none, the user of the first run becomes one."""
    known = administrators().first()
    if known is not None:
        return known
    with transaction.atomic():
        user, _ = User.objects.get_or_create(username=FIRST_USER, defaults={"password": make_password(None)})
        grant(user, Role.ADMIN)
    return user


def link_create(*, user: User, base_url: str) -> str:
    """A new link for the user; the user's older ones stop working."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    now = timezone.now()
    with transaction.atomic():
        LoginToken.objects.filter(user=user).delete()
        LoginToken.objects.create(digest=token_digest(token), user=user, expires_at=now + LINK_LIFETIME)
    return f"{base_url}{reverse('frontend:login')}?{urlencode({'token': token})}"


def link_works(*, token: str) -> bool:
    """Whether the token would sign somebody in now. Uses nothing up."""
    return LoginToken.objects.filter(digest=token_digest(token), used_at=None, expires_at__gt=timezone.now(), user__is_active=True).exists()


def link_consume(*, token: str) -> User | None:
    """The user whom the token signs in, once: of several at the same time one gets the user. None where the token is no good."""
    digest = token_digest(token)
    now = timezone.now()
    # Conditions on the row itself only: a database then looks at them again after it has waited for another writer.
    if not LoginToken.objects.filter(digest=digest, used_at=None, expires_at__gt=now).update(used_at=now):
        return None
    user: User = LoginToken.objects.select_related("user").get(digest=digest).user
    return user if user.is_active else None


def token_digest(token: str) -> str:
    """How a token is kept and looked up."""
    return hashlib.sha256(token.encode()).hexdigest()
