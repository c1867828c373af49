"""Tokens: how programs sign in.

A token acts for its owner with at most the role that the owner has at that moment. It is shown once, when it is made; the database keeps
its digest and its first characters, by which people tell tokens apart. What is revoked, expired, or of a deactivated owner is no token.
"""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from clusters.domain.errors import InvalidRequest
from clusters.eventlog.store import default_log
from frontend.accounts.limits import TryLimit
from frontend.accounts.links import token_digest
from frontend.accounts.models import ApiToken
from frontend.accounts.roles import Caller, Role, lower, role_of

BEGINS = "sk_"
RANDOM_BYTES = 32
SHOWN = len(BEGINS) + 6  # characters that are kept as they are

#: Longer than any token of ours: the rest of a longer text is not looked at.
MOST_CHARACTERS = 200
MOST_LABEL = 64
DAYS = (1, 365)
DEFAULT_DAYS = 90

#: The time of the last use is as exact as this: a program that calls often does not write as often.
USE_NOTED_EVERY = timedelta(minutes=1)

#: Of tokens that were no good, by network.
bad_tokens = TryLimit()


def token_create(*, user: User, label: str, role: Role, cluster: str = "", days: int = DEFAULT_DAYS) -> tuple[ApiToken, str]:
    """A new token and its secret, which nobody can tell again; raises InvalidRequest."""
    _check(user, label, role, cluster, days)
    secret = BEGINS + secrets.token_urlsafe(RANDOM_BYTES)
    token = ApiToken.objects.create(
        digest=token_digest(secret),
        prefix=secret[:SHOWN],
        label=label,
        user=user,
        role=role.value,
        cluster=cluster,
        expires_at=timezone.now() + timedelta(days=days),
    )
    return token, secret


def token_find(secret: str) -> ApiToken | None:
    """The token whose secret this is, while it is good; notes that it was used."""
    if not secret.startswith(BEGINS) or len(secret) > MOST_CHARACTERS:
        return None
    now = timezone.now()
    alive = ApiToken.objects.select_related("user").filter(revoked_at=None, expires_at__gt=now, user__is_active=True)
    token = alive.filter(digest=token_digest(secret)).first()
    if token is not None and (token.last_used_at is None or now - token.last_used_at >= USE_NOTED_EVERY):
        unnoted = Q(last_used_at=None) | Q(last_used_at__lte=now - USE_NOTED_EVERY)
        ApiToken.objects.filter(unnoted, pk=token.pk).update(last_used_at=now)
    return token


def token_revoke(token: ApiToken) -> None:
    """The token is no good from now on."""
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())


def caller_of_token(token: ApiToken) -> Caller:
    """Who calls with the token: its role, or less if its owner has less by now."""
    role = lower(Role(token.role), role_of(token.user))
    return Caller(name=token.user.get_username(), role=role, cluster=token.cluster, by_token=True)


def _check(user: User, label: str, role: Role, cluster: str, days: int) -> None:
    if not (1 <= len(label) <= MOST_LABEL and label.isprintable()):
        raise InvalidRequest("label", label[:MOST_LABEL], f"give 1 to {MOST_LABEL} printable characters")
    if lower(role, role_of(user)) is not role:
        own = role_of(user)
        raise InvalidRequest("role", role.value, f"give a role up to {own}" if own else "the user has no role, so no token can have one")
    if not DAYS[0] <= days <= DAYS[1]:
        raise InvalidRequest("days", days, f"give a whole number from {DAYS[0]} to {DAYS[1]}")
    if cluster and cluster not in default_log().clusters():
        raise InvalidRequest(
            "cluster", cluster, f"give one of: {', '.join(default_log().clusters()) or '(there is none yet)'}, or none for all"
        )
