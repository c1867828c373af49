"""Around every request: an id that follows it everywhere, how long it took, and a line in the log where it changed something.

The id is the caller's `X-Request-ID` where that is a sound one, else a new one; it goes back in the answer, into the lines of the log, the
events that the request leads to, and the tasks that follow from these.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from uuid import uuid4

from django.http import HttpRequest, HttpResponse

from clusters.eventlog.correlation import correlated, is_sound
from config.metrics import count_request

logger = logging.getLogger("slicekeeper.request")

HEADER = "X-Request-ID"
READING = frozenset({"GET", "HEAD", "OPTIONS"})
UNKNOWN_ROUTE = "none"


class RequestMiddleware:
    """Around all that people and programs ask for; probes do not get here."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get(HEADER, "")
        name = given if is_sound(given) else uuid4().hex
        with correlated(name):
            began = time.perf_counter()
            response = self._get_response(request)
            seconds = time.perf_counter() - began
            route = route_of(request)
            count_request(route, request.method or "", response.status_code, seconds)
            if request.method not in READING:
                self._note(request, route, response, seconds)
        response[HEADER] = name
        return response

    def _note(self, request: HttpRequest, route: str, response: HttpResponse, seconds: float) -> None:
        # As the gate found the caller: asking the database here could turn the answer into another one.
        name = getattr(getattr(request, "caller", None), "name", "")
        told = {"method": request.method, "route": route, "status": response.status_code, "user": name, "ms": round(seconds * 1000)}
        logger.info("%(method)s %(route)s answered %(status)s in %(ms)s ms to %(user)r", told, extra=told)


def route_of(request: HttpRequest) -> str:
    """The name of the route that answered: a few dozen, whatever paths are asked for."""
    match = request.resolver_match
    return (match.view_name or UNKNOWN_ROUTE) if match is not None else UNKNOWN_ROUTE
