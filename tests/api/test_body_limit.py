"""No request may fill the disk, whoever sends it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from frontend.body_limit import BodyLimit

MOST = 100


async def echo(_: Any, receive: Any, send: Any) -> None:
    """Read the whole body, as Django does, and say how much it was."""
    taken = 0
    while True:
        message = await receive()
        taken += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(taken).encode()})


async def send_body(chunks: list[bytes], headers: list[tuple[bytes, bytes]]) -> tuple[int, bytes, int]:
    """Status, answer, and how many chunks were taken."""
    sent: list[dict[str, Any]] = []
    left = list(chunks)

    async def receive() -> dict[str, Any]:
        chunk = left.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(left)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    app: Any = BodyLimit(echo, MOST)
    await app({"type": "http", "headers": headers}, receive, send)
    return sent[0]["status"], sent[1]["body"], len(chunks) - len(left)


@pytest.mark.parametrize("headers", [[], [(b"Content-Length", b"100")], [(b"content-length", b"nonsense")]])
def test_what_is_allowed_passes(headers: list[tuple[bytes, bytes]]) -> None:
    assert asyncio.run(send_body([b"x" * 60, b"x" * 40], headers)) == (200, b"100", 2)


def test_a_body_that_says_it_is_too_long_is_not_read() -> None:
    status, body, taken = asyncio.run(send_body([b"x" * 101], [(b"content-length", b"101")]))
    assert (status, taken) == (413, 0)
    assert b'"code":"too-large"' in body


def test_a_body_that_does_not_say_how_long_it_is_is_cut_off() -> None:
    status, _, taken = asyncio.run(send_body([b"x" * 60, b"x" * 60, b"x" * 60], []))
    assert (status, taken) == (413, 2)


def test_sockets_pass() -> None:
    seen: list[str] = []

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        seen.append(scope["type"])

    limited: Any = BodyLimit(app, MOST)
    asyncio.run(limited({"type": "websocket"}, None, None))
    assert seen == ["websocket"]
