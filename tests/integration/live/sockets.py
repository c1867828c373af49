"""A browser's end of a live socket, straight into the ASGI application."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import unquote

from django.conf import settings

from tests.support.patience import PATIENCE

HOST = "testserver"


class Socket:
    """One socket. Use it as an asynchronous context: it hangs up at the end."""

    def __init__(
        self,
        path: str,
        *,
        cookie: str = "",
        authorization: str = "",
        origin: str | None = f"http://{HOST}",
        host: str = HOST,
        scheme: str = "ws",
    ) -> None:
        headers = [(b"host", host.encode()), (b"cookie", f"{settings.SESSION_COOKIE_NAME}={cookie}".encode())]
        if authorization:
            headers.append((b"authorization", authorization.encode()))
        if origin is not None:
            headers.append((b"origin", origin.encode()))
        path, _, query = path.partition("?")
        self.scope: dict[str, Any] = {
            "type": "websocket", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": scheme, "path": unquote(path),
            "raw_path": path.encode(), "query_string": query.encode(), "headers": headers, "subprotocols": [], "root_path": "",
            "client": ("192.0.2.1", 4711), "server": (host, 80),
        }  # fmt: skip
        self.inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.outbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.reads = asyncio.Event()  # clear it, and the browser stops reading
        self.reads.set()

    async def __aenter__(self) -> Socket:
        from config.asgi import application

        app: Any = application
        self.inbox.put_nowait({"type": "websocket.connect"})
        self.task = asyncio.create_task(app(self.scope, self.inbox.get, self._take))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.inbox.put_nowait({"type": "websocket.disconnect", "code": 1001})
        self.reads.set()
        async with asyncio.timeout(PATIENCE):
            await self.task

    async def _take(self, message: dict[str, Any]) -> None:
        await self.reads.wait()
        self.outbox.put_nowait(message)

    async def output(self) -> dict[str, Any]:
        """The next message of the application, which must come."""
        async with asyncio.timeout(PATIENCE):
            return await self.outbox.get()

    async def opened(self) -> bool:
        """Whether the handshake was accepted."""
        return bool((await self.output())["type"] == "websocket.accept")

    async def frame(self) -> dict[str, Any]:
        """The next frame."""
        message = await self.output()
        assert message["type"] == "websocket.send", message
        decoded: dict[str, Any] = json.loads(message["text"])
        return decoded

    def say(self, text: str) -> None:
        """Send a text."""
        self.inbox.put_nowait({"type": "websocket.receive", "text": text})
