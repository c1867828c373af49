"""The page shown when a request failed: the server's fault, or a database that is away for now."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

RETRY_SECONDS = 5


def failed(_: HttpRequest) -> HttpResponse:
    """Drawn without request and context: whatever they would ask for may be what is away."""
    if isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        return HttpResponse(render_to_string("frontend/database_away.html"), status=503, headers={"Retry-After": str(RETRY_SECONDS)})
    return HttpResponse(render_to_string("500.html"), status=500)
