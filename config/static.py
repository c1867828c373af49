"""WhiteNoise for an ASGI server: a file is one body.

WhiteNoise answers with an open file as a synchronous stream, which Django under ASGI reads whole anyway and warns about on each
request. The largest file here, the chart library, has one and a half megabytes.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]  # its base has no types
    """Answers with the bytes of the file instead of a stream."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        body = b""
        if found.file is not None:
            with found.file as file:
                body = file.read()
        response = HttpResponse(body, status=int(found.status))
        del response["Content-Type"]  # Django's default; WhiteNoise knows the type of the file
        for name, value in found.headers:
            response[name] = value
        return response
