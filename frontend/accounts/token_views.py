"""The page of tokens: one's own, and for administrators everybody's."""

from __future__ import annotations

import logging
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from clusters.domain.errors import InvalidRequest
from clusters.eventlog.store import default_log
from frontend.accounts.access import caller_of
from frontend.accounts.models import ApiToken
from frontend.accounts.roles import Permission, Role, lower, role_of
from frontend.accounts.tokens import DAYS, DEFAULT_DAYS, token_create, token_revoke

security = logging.getLogger("slicekeeper.security")

LIFETIMES = (1, 7, 30, DEFAULT_DAYS, DAYS[1])
MOST_DIGITS = 6


@never_cache
def tokens_page(request: HttpRequest) -> HttpResponse:
    """The tokens; a POST makes one and shows it, this once."""
    if request.method != "POST":
        return _tokens(request)
    sent = request.POST
    role, days = sent.get("role", ""), sent.get("days", "")
    try:
        token, secret = token_create(
            user=_owner(request),
            label=sent.get("label", "").strip(),
            role=Role(role) if role in list(Role) else Role.VIEWER,
            cluster=sent.get("cluster", ""),
            days=int(days) if days.isascii() and days.isdigit() and len(days) < MOST_DIGITS else 0,
        )
    except InvalidRequest as error:
        return _tokens(request, problem=str(error), typed=sent.get("label", ""))
    security.info("token %s made by %s as %s", token.prefix, caller_of(request).name, token.role)
    return _tokens(request, secret=secret, made=token)


@never_cache
def token_end(request: HttpRequest, token: int) -> HttpResponse:
    """Revoke one's own token, or as an administrator anybody's."""
    found = get_object_or_404(ApiToken.objects.select_related("user"), pk=token)
    caller = caller_of(request)
    if found.user.get_username() != caller.name and not caller.may(Permission.ANY_TOKEN):
        raise PermissionDenied("This token is not yours")
    token_revoke(found)
    security.info("token %s of %s revoked by %s", found.prefix, found.user.get_username(), caller.name)
    return redirect("frontend:tokens")


def _owner(request: HttpRequest) -> User:
    return User.objects.get(username=caller_of(request).name)


def _tokens(request: HttpRequest, *, problem: str = "", **more: Any) -> HttpResponse:
    owner, caller = _owner(request), caller_of(request)
    known = ApiToken.objects.select_related("user").order_by("-pk")
    others = known.exclude(user=owner) if caller.may(Permission.ANY_TOKEN) else known.none()
    own = role_of(owner)
    context = {
        "lists": [{"title": "Your tokens", "rows": _rows(known.filter(user=owner)), "own": True}],
        "roles": [role.value for role in Role if lower(role, own) is role],
        "known": default_log().clusters(),
        "lifetimes": LIFETIMES,
        "usual": DEFAULT_DAYS,
        "problem": problem,
        **more,
    }
    if others:
        context["lists"].append({"title": "Tokens of others", "rows": _rows(others), "own": False})
    return render(request, "frontend/tokens.html", context, status=422 if problem else 200)


def _rows(tokens: Any) -> list[dict[str, Any]]:
    now = timezone.now()
    return [
        {
            "id": token.pk,
            "prefix": token.prefix,
            "label": token.label,
            "owner": token.user.get_username(),
            "role": token.role,
            "cluster": token.cluster,
            "expires_at": token.expires_at,
            "last_used_at": token.last_used_at,
            "state": "revoked" if token.revoked_at else "expired" if token.expires_at <= now else "",
        }
        for token in tokens
    ]
