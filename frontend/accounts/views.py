"""Signing in and out."""

from __future__ import annotations

import logging

from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from frontend.accounts.limits import login_limit
from frontend.accounts.links import link_consume, link_works

logger = logging.getLogger(__name__)

BACKEND = "django.contrib.auth.backends.ModelBackend"
NO_GOOD = "This link was used, replaced or has expired"
TOO_MANY = "Too many tries: wait a minute"

#: Longer than any token or path of ours.
MOST_CHARACTERS = 2_000


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """A GET of a link shows a button, or that the link is no good any more; only the button's POST uses it up."""
    if request.method == "POST":
        return _sign_in(request)
    token, address = request.GET.get("token", "")[:MOST_CHARACTERS], request.META.get("REMOTE_ADDR", "")
    if token and not login_limit.blocked(address) and not link_works(token=token):
        login_limit.wait(address)  # looking whether a token is good is a try, too
        return _refused(request, NO_GOOD, status=403)
    context = {"token": token, "next": _local(request, request.GET.get("next", ""))}
    return render(request, "frontend/login.html", context)


def _sign_in(request: HttpRequest) -> HttpResponse:
    address = request.META.get("REMOTE_ADDR", "")
    wait = login_limit.wait(address)
    if wait:
        logger.warning("login from %s refused: too many tries", address)
        return _refused(request, TOO_MANY, status=429, headers={"Retry-After": str(int(wait) + 1)})
    user = link_consume(token=request.POST.get("token", "")[:MOST_CHARACTERS])
    if user is None:
        logger.warning("login from %s refused: the link is unknown, used, replaced or expired", address)
        return _refused(request, NO_GOOD, status=403)
    login(request, user, backend=BACKEND)  # gives the session a new key and the user a new CSRF token
    logger.info("login of %s from %s", user.get_username(), address)
    return redirect(_local(request, request.POST.get("next", "")) or "/")


def _refused(request: HttpRequest, problem: str, *, status: int, headers: dict[str, str] | None = None) -> HttpResponse:
    response = render(request, "frontend/login.html", {"problem": problem}, status=status)
    for name, value in (headers or {}).items():
        response[name] = value
    return response


def _local(request: HttpRequest, path: str) -> str:
    """The path, if it stays on this site; else "": a link to here must not lead elsewhere after the login."""
    safe = url_has_allowed_host_and_scheme(path, allowed_hosts={request.get_host()}, require_https=request.is_secure())
    return path if safe and len(path) <= MOST_CHARACTERS else ""


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """Forget the session; by POST only, so that no picture on another page signs anybody out."""
    logger.info("logout of %s from %s", request.user.get_username(), request.META.get("REMOTE_ADDR", ""))
    logout(request)
    return redirect("frontend:login")
