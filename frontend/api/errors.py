"""Every error of the API as RFC 9457 problem details. This is the only place that turns an exception into a response.

400 the request cannot be read; 401 not signed in; 403 not allowed; 404 no such thing; 405 no such method; 409 it does not go with the
present state, or with what was sent before; 413 too large; 415 of another type; 422 it can be read, but a value is wrong or nothing in this
cluster could ever serve it; 429 too many tries; 503 try later.
`code` is stable, `errors` names each field with its value and what would be right.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from math import ceil
from typing import Any

import msgspec
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.domain.decision import Refusal
from clusters.domain.errors import (
    ClusterError,
    ClusterExists,
    FencedOut,
    InvalidRequest,
    SourceConflict,
    SourceSequence,
    UnknownCluster,
    UnknownEvent,
    UnknownSubject,
)
from clusters.inventory.model import BadInventory
from scheduling.domain.refusals import explain

logger = logging.getLogger(__name__)
security = logging.getLogger("slicekeeper.security")

MEDIA_TYPE = "application/problem+json"

INVALID = 422
INTERNAL = 500
UNAVAILABLE = 503
#: What clients are told to wait when something is not available.
RETRY_SECONDS = 5

#: Characters of a refused value that are shown again.
MOST_SHOWN = 200
#: Wrong fields that the sentence names; `errors` has them all.
MOST_NAMED = 3


class FieldError(msgspec.Struct, frozen=True):
    """One value that is wrong."""

    field: str  # path of the field, "" for the body as a whole
    value: Any  # as it was sent, shortened
    expected: str  # what would be right


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """An RFC 9457 problem."""

    type: str
    title: str  # the same for every problem of this code
    status: int
    code: str
    detail: str = ""  # this one in words
    errors: list[FieldError] = []
    counts: dict[str, int | str] = {}  # counted reasons of a refusal


class Refused(Exception):
    """A command was refused; a view raises it, and the handler answers."""

    def __init__(self, refusal: Refusal, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(explain(refusal))
        self.refusal = refusal
        self.errors = errors or refused_fields(refusal)


class Invalid(Exception):
    """Values are wrong; the handler names each."""

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__("; ".join(f"{error.field or 'body'}: {error.expected}" for error in errors[:MOST_NAMED]))
        self.errors = errors


class NotSignedIn(exceptions.NotAuthenticated):
    """There is neither a session nor a token."""

    default_detail = "Sign in, or send a token: Authorization: Bearer sk_..."
    auth_header = "Bearer"


class BadToken(exceptions.AuthenticationFailed):
    """The token is unknown, revoked or expired, or its owner was deactivated."""

    default_detail = "The token is unknown, was revoked or has expired; make another one"
    default_code = "bad-token"
    auth_header = 'Bearer error="invalid_token"'


class Throttled(exceptions.Throttled):
    """Too many bad tokens came from there."""

    default_code = "too-many-tries"

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = ceil(seconds)


class MethodNotThere(exceptions.MethodNotAllowed):
    """The route has no such method."""

    def __init__(self, method: str, methods: Sequence[str]) -> None:
        super().__init__(method)
        self.methods = methods


class Unreadable(exceptions.APIException):
    """The body is not what it says it is."""

    status_code = 400
    default_code = "unreadable"


class TooLarge(exceptions.APIException):
    """The body is larger than what is taken here."""

    status_code = 413
    default_code = "too-large"


_STATUS: dict[type[ClusterError], int] = {
    UnknownCluster: 404,
    UnknownSubject: 404,
    ClusterExists: 409,
    SourceConflict: 409,
    SourceSequence: 409,
    FencedOut: 409,
    UnknownEvent: UNAVAILABLE,
}

_OTHERS: tuple[tuple[type[Exception], int, str, str], ...] = (
    (Http404, 404, "not-found", "There is nothing at this path"),
    (RequestDataTooBig, 413, "too-large", "Send less at a time"),
    (OperationalError, UNAVAILABLE, "unavailable", "The database does not answer"),
)

_REFUSED: dict[str, int] = {"unknown": 404, "infeasible": INVALID, "invalid": INVALID}

#: Every code there is, with what all its problems are called; docs/guides/api.md says when each comes.
TITLES: dict[str, str] = {
    "unknown-cluster": "No such cluster",
    "unknown-subject": "No such node, rack, job or plan",
    "unknown": "No such node, rack, job or plan",
    "not-found": "Nothing is here",
    "cluster-exists": "There is such a cluster already",
    "source-conflict": "Sent before with other content",
    "invalid": "A value is not valid",
    "bad-inventory": "This inventory cannot be imported",
    "infeasible": "This cluster could never serve that",
    "state": "Not in the present state",
    "unknown-event": "This version cannot read the log",
    "source-sequence": "This source numbers all it says, or nothing",
    "fenced-out": "Somebody else does this now",
    "unreadable": "The request cannot be read",
    "too-large": "The request is too large",
    "not-authenticated": "Not signed in",
    "bad-token": "This token is no good",
    "too-many-tries": "Too many tries",
    "permission-denied": "Not allowed",
    "method-not-allowed": "No such method here",
    "not-acceptable": "Answers are JSON",
    "unsupported-media-type": "Bodies of this type are not read here",
    "unavailable": "Not available now",
    "internal": "Something went wrong here",
}


def exception_handler(exc: Exception, context: Mapping[str, Any]) -> Response:
    """The answer to whatever a view raised."""
    problem, headers = answer_to(exc, context.get("request"))
    return Response(msgspec.to_builtins(problem), status=problem.status, headers=headers, content_type=MEDIA_TYPE)


def problem_response(exc: Exception, request: HttpRequest) -> HttpResponse:
    """The same, before any view of the API was asked."""
    problem, headers = answer_to(exc, request)
    return HttpResponse(msgspec.json.encode(problem), status=problem.status, headers=headers, content_type=MEDIA_TYPE)


def answer_to(exc: Exception, request: HttpRequest | Request | None) -> tuple[Problem, dict[str, str]]:
    """The problem and the headers that go with it."""
    problem = problem_of(exc)
    if problem.status == INTERNAL:
        logger.error("the API failed", exc_info=exc)
    elif problem.status in (401, 403):
        who = request.META.get("REMOTE_ADDR", "?") if request else "?"
        security.warning("API request from %s to %s refused: %s", who, request.path if request else "?", problem.code)
    headers = {"Retry-After": str(RETRY_SECONDS)} if problem.status == UNAVAILABLE else {}
    if problem.status == 401:
        headers["WWW-Authenticate"] = str(getattr(exc, "auth_header", "Bearer"))
    if isinstance(exc, MethodNotThere):
        headers["Allow"] = ", ".join(exc.methods)
    if isinstance(exc, Throttled):
        headers["Retry-After"] = str(exc.seconds)
    return problem, headers


def problem_of(exc: Exception) -> Problem:
    """What is to be said of an exception."""
    if isinstance(exc, Refused):
        refusal = exc.refusal
        return _problem(_REFUSED.get(refusal.code, 409), refusal.code, str(exc), exc.errors, refusal.counts)
    if isinstance(exc, ClusterError):
        return _cluster_problem(exc)
    if isinstance(exc, Invalid):
        return _problem(INVALID, "invalid", str(exc), exc.errors)
    if isinstance(exc, exceptions.APIException):
        return _problem(exc.status_code, _code_of(exc), str(exc.detail))
    if isinstance(exc, PermissionDenied):
        return _problem(403, "permission-denied", str(exc) or "Your account may not do this")
    for kind, status, code, detail in _OTHERS:
        if isinstance(exc, kind):
            return _problem(status, code, detail)
    return _problem(INTERNAL, "internal", "The reason is in the log of the server")


def shown(value: object) -> object:
    """A value as the answer repeats it: short, and what JSON can say."""
    if value is None or isinstance(value, bool | int):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "…"


def _problem(
    status: int, code: str, detail: str, errors: Sequence[FieldError] = (), counts: Mapping[str, int | str] | None = None
) -> Problem:
    title = TITLES.get(code) or HTTPStatus(status).phrase
    return Problem(f"urn:slicekeeper:{code}", title, status, code, detail, list(errors), dict(counts or {}))


def _cluster_problem(exc: ClusterError) -> Problem:
    if isinstance(exc, InvalidRequest):
        return _problem(INVALID, exc.code, str(exc), [FieldError(exc.field, shown(exc.value), exc.expected)])
    if isinstance(exc, BadInventory):
        errors = [FieldError(", ".join(filter(None, (bad.position, bad.name))), None, bad.message) for bad in exc.problems if bad.fatal]
        return _problem(INVALID, exc.code, str(exc), errors)
    status = next((status for kind, status in _STATUS.items() if isinstance(exc, kind)), INTERNAL)
    return _problem(status, exc.code, str(exc)) if status != INTERNAL else _problem(INTERNAL, "internal", "The log of the server says more")


def refused_fields(refusal: Refusal) -> list[FieldError]:
    """The field of a request that nothing could ever serve."""
    counts = refusal.counts
    return [FieldError(str(counts["field"]), counts["value"], str(counts["expected"]))] if "expected" in counts else []


def _code_of(exc: exceptions.APIException) -> str:
    if isinstance(exc, exceptions.ParseError):  # of a form
        return Unreadable.default_code
    code = exc.get_codes()
    return code.replace("_", "-") if isinstance(code, str) else exc.default_code.replace("_", "-")
