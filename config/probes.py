"""The addresses that machines ask: /healthz, /readyz and /metrics.

They answer before hosts, https and logins are looked at, since a probe knows an address and not a name.

- /healthz: this process answers. It asks nothing of anybody, so it says nothing of anybody else: restart what fails it.
- /readyz: 200 where this process can serve, else 503, each check with its reason: send no requests to what fails it.
- /metrics: for this machine, or for who brings SLICEKEEPER_METRICS_TOKEN as a bearer token; everybody else finds nothing there.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

from config.metrics import CONTENT_TYPE, exposition
from config.readiness import readiness

#: What proxies add: a request that came through one is not from this machine, whatever address it seems to come from.
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via")
HERE = ("localhost", "127.0.0.1", "[::1]")


class ProbeMiddleware:
    """Answers the three paths; everything else goes on."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response
        self._answers = {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = self._answers.get(request.path_info)
        if answer is None:
            return self._get_response(request)
        if request.method not in ("GET", "HEAD"):
            return HttpResponse(status=405, headers={"Allow": "GET, HEAD"})
        response = answer(request)
        response["Cache-Control"] = "no-store"
        return response


def healthz(_request: HttpRequest) -> HttpResponse:
    return JsonResponse({"alive": True, "version": settings.VERSION})


def readyz(_request: HttpRequest) -> HttpResponse:
    found = readiness.look()
    response = JsonResponse(found.told(), status=200 if found.ready else 503)
    response._has_been_logged = True  # type: ignore[attr-defined]  # an error a second would drown the one line that tells why
    return response


def metrics(request: HttpRequest) -> HttpResponse:
    if not may_measure(request):
        return HttpResponse(status=404)
    return HttpResponse(exposition(), content_type=CONTENT_TYPE)


def may_measure(request: HttpRequest) -> bool:
    """Whether the request comes from a program on this machine, or brings the token."""
    token: str = settings.ENVIRONMENT.metrics_token
    if token:
        return secrets.compare_digest(request.headers.get("Authorization", "").encode(), f"Bearer {token}".encode())
    host = request.META.get("HTTP_HOST", "").rpartition(":")
    named = host[0] if host[2].isdigit() else "".join(host)
    return named in HERE and is_loopback(request.META.get("REMOTE_ADDR", "")) and not any(name in request.headers for name in FORWARDED)


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
