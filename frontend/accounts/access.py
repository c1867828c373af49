"""The one gate: every request and every socket passes here, and nobody passes without a row of `frontend.accounts.routes`.

A request of the API may carry a token (`Authorization: Bearer sk_...`), which then counts instead of any session; on pages only sessions
count. Refusals of pages are pages, refusals of the API are problems.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils.deprecation import MiddlewareMixin

from frontend.accounts.roles import Caller, Permission, role_of
from frontend.accounts.routes import OPEN, permission_of, row_of
from frontend.accounts.tokens import bad_tokens, caller_of_token, token_find
from frontend.api.errors import BadToken, MethodNotThere, NotSignedIn, Throttled, problem_response

security = logging.getLogger("slicekeeper.security")

API = "api"
BEARER = "bearer "

NOBODY = Caller(name="", role=None)


class AccessMiddleware(MiddlewareMixin):
    """Looks up who calls and what the route asks; leaves the caller at the request."""

    def process_view(self, request: HttpRequest, _view: Any, _args: Any, kwargs: Mapping[str, Any]) -> HttpResponse | None:
        match = request.resolver_match
        if match is None:
            return HttpResponse(status=403)
        of_api = API in match.namespaces
        try:
            caller = _caller(request) if of_api else _caller_of_session(request)
            request.caller = caller  # type: ignore[attr-defined]
            admit(caller, match.view_name, request.method or "", str(kwargs.get("cluster", "")))
        except (NotSignedIn, BadToken, Throttled, MethodNotThere, PermissionDenied) as refusal:
            return problem_response(refusal, request) if of_api else _page(request, refusal, match.view_name)
        except OperationalError as error:  # nobody can be looked up
            if not of_api:
                raise
            return problem_response(error, request)
        return None


def admit(caller: Caller, route: str, method: str, cluster: str = "") -> None:
    """Let the caller pass, or raise why not: NotSignedIn, MethodNotThere, PermissionDenied."""
    row = row_of(route)
    if row is None:
        security.error("route %s has no row in frontend/accounts/routes.py: nobody may call it", route)
        raise PermissionDenied(f"No role may use the route {route}")
    try:
        needed = permission_of(row, method)
    except KeyError:
        if not caller.name and OPEN not in row.values():
            raise NotSignedIn from None
        raise MethodNotThere(method, list(row)) from None
    if needed is OPEN:
        return
    if not caller.name:
        raise NotSignedIn
    require(caller, needed)
    if not caller.sees(cluster or caller.cluster):
        raise PermissionDenied(f"This token is for cluster {caller.cluster} only")


def require(caller: Caller, permission: Permission) -> None:
    """Raise PermissionDenied unless the caller has the permission."""
    if not caller.may(permission):
        role = f"Your role, {caller.role}, does" if caller.role else "Your account has no role yet, and none does"
        raise PermissionDenied(f"{role} not allow this ({permission.value.replace('_', ' ')})")


def caller_of(request: Any) -> Caller:
    """Who called, as the gate found it."""
    caller: Caller = getattr(request, "caller", NOBODY)
    return caller


def _caller_of_session(request: HttpRequest) -> Caller:
    user = request.user
    return Caller(name=user.get_username(), role=role_of(user)) if user.is_authenticated else NOBODY


def _caller(request: HttpRequest) -> Caller:
    secret = bearer(request.META.get("HTTP_AUTHORIZATION", ""))
    if secret is None:
        return _caller_of_session(request)
    found = _token_caller(secret, request.META.get("REMOTE_ADDR", ""))
    request.user = found[1]
    return found[0]


def bearer(header: str) -> str | None:
    """The secret of an Authorization header; None where it carries none."""
    return header[len(BEARER) :].strip() if header[: len(BEARER)].lower() == BEARER else None


def _token_caller(secret: str, address: str) -> tuple[Caller, Any]:
    """The caller and the user behind a token; raises BadToken, or Throttled after too many of those."""
    wait = bad_tokens.blocked(address)
    if wait:
        raise Throttled(wait)
    token = token_find(secret)
    if token is None:
        bad_tokens.wait(address)
        security.warning("token from %s refused: it is unknown, revoked or expired", address)
        raise BadToken
    return caller_of_token(token), token.user


def _page(request: HttpRequest, refusal: Exception, route: str) -> HttpResponse:
    if isinstance(refusal, NotSignedIn):
        return redirect_to_login(request.get_full_path(), settings.LOGIN_URL)
    if isinstance(refusal, MethodNotThere):
        return HttpResponseNotAllowed(refusal.methods)
    security.warning("page %s refused to %s from %s", route, request.user.get_username(), request.META.get("REMOTE_ADDR", "?"))
    raise refusal


# ---- sockets

SOCKET = "ws:live"


@sync_to_async
def socket_admits(user: Any, authorization: str, address: str, cluster: str) -> bool:
    """Whether a session's user, or a token in the handshake, may follow the cluster now."""
    secret = bearer(authorization)
    try:
        if secret is not None:
            caller = _token_caller(secret, address)[0]
        else:
            user = user or AnonymousUser()
            caller = Caller(name=user.get_username(), role=role_of(user)) if user.is_authenticated else NOBODY
        admit(caller, SOCKET, "GET", cluster)
    except (NotSignedIn, BadToken, Throttled, MethodNotThere, PermissionDenied):
        return False
    return True
