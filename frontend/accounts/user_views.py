"""The page of users, for administrators."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache

from clusters.domain.errors import InvalidRequest
from frontend.accounts.access import caller_of
from frontend.accounts.links import link_create
from frontend.accounts.people import user_activate, user_create, user_grant
from frontend.accounts.roles import ROLE_MEANING, Role, granted_role

#: As the form sends it.
ON = "on"


@never_cache
def users_page(request: HttpRequest) -> HttpResponse:
    """All users; a POST makes one and shows the link that signs them in."""
    if request.method != "POST":
        return _users(request)
    name = request.POST.get("name", "").strip()
    role = _role(request.POST.get("role", ""))
    try:
        user = user_create(name=name, role=role or Role.VIEWER, by=caller_of(request).name)
    except InvalidRequest as error:
        return _users(request, problem=str(error), typed=name, chosen=role)
    return _users(request, link=_link(request, user), link_of=user.get_username())


@never_cache
def user_link(request: HttpRequest, user: int) -> HttpResponse:
    """Another link for somebody who has no session."""
    who = get_object_or_404(User, pk=user, is_active=True)
    return _users(request, link=_link(request, who), link_of=who.get_username())


@never_cache
def user_role(request: HttpRequest, user: int) -> HttpResponse:
    """Another role."""
    who, role = get_object_or_404(User, pk=user), _role(request.POST.get("role", ""))
    if role is None:
        return _users(request, problem=f"role: give one of: {', '.join(Role)}")
    try:
        user_grant(user=who, role=role, by=caller_of(request).name)
    except InvalidRequest as error:
        return _users(request, problem=str(error))
    return redirect("frontend:users")


@never_cache
def user_active(request: HttpRequest, user: int) -> HttpResponse:
    """In or out."""
    who = get_object_or_404(User, pk=user)
    try:
        user_activate(user=who, active=request.POST.get("active") == ON, by=caller_of(request).name)
    except InvalidRequest as error:
        return _users(request, problem=str(error))
    return redirect("frontend:users")


def _role(text: str) -> Role | None:
    return Role(text) if text in list(Role) else None


def _link(request: HttpRequest, user: User) -> str:
    return link_create(user=user, base_url=request.build_absolute_uri("/").rstrip("/"))


def _users(request: HttpRequest, *, problem: str = "", **more: Any) -> HttpResponse:
    users = User.objects.prefetch_related("groups").order_by("username")
    rows = [
        {
            "id": user.pk,
            "name": user.get_username(),
            "role": granted_role(user),
            "active": user.is_active,
            "last_login": user.last_login,
            "own": user.get_username() == caller_of(request).name,
        }
        for user in users
    ]
    roles = [{"value": role.value, "meaning": ROLE_MEANING[role]} for role in Role]
    context = {"users": rows, "roles": roles, "problem": problem, **more}
    return render(request, "frontend/users.html", context, status=422 if problem else 200)
