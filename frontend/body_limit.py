"""The most that one request may carry, held where bytes come in: Django reads a whole body before it asks who sends it."""

from __future__ import annotations

from typing import Any

import msgspec
from asgiref.typing import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGIReceiveEvent,
    ASGISendCallable,
    ASGISendEvent,
    HTTPScope,
    Scope,
)

from frontend.api.errors import MEDIA_TYPE, TooLarge, problem_of

#: An inventory of 16 MiB in a form, and nothing larger.
MOST_BYTES = 16 * 1024 * 1024 + 64 * 1024


class _Exceeded(Exception):
    """More came than was allowed; never leaves this module."""


class BodyLimit:
    """Answers 413 instead of taking in more than `most` bytes of a body."""

    def __init__(self, app: Any, most: int = MOST_BYTES) -> None:
        self._app: ASGI3Application = app  # Django's types call the same thing by other names
        self._most = most

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif _declared(scope) > self._most:
            await self._refuse(send)
        else:
            await self._counted(scope, receive, send)

    async def _counted(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Count what comes, for bodies that do not say how long they are, or lie."""
        taken = 0
        answered = False

        async def take() -> ASGIReceiveEvent:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b"")) if message["type"] == "http.request" else 0
            if taken > self._most:
                raise _Exceeded
            return message

        async def give(message: ASGISendEvent) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            await self._app(scope, take, give)
        except _Exceeded:
            if not answered:
                await self._refuse(send)

    async def _refuse(self, send: ASGISendCallable) -> None:
        body = msgspec.json.encode(problem_of(TooLarge(f"A request may carry at most {self._most // 1024} KiB")))
        headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers, "trailers": False})
        await send({"type": "http.response.body", "body": body, "more_body": False})


def _declared(scope: HTTPScope) -> int:
    """The length that the request says its body has; 0 where it says none."""
    for name, value in scope["headers"]:
        if name.lower() == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0
