"""One live socket: from the handshake until either side has had enough.

Closing codes: 4401 the session has ended, 4404 no such cluster, 4408 no sign of life. A handshake that is refused says only 403; browsers
then ask over HTTP whether they are still signed in.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, cast
from urllib.parse import parse_qs

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, WebSocketScope
from django.db import Error as DatabaseError

from clusters.domain.errors import ClusterError, UnknownCluster
from frontend.live.access import may_open, still_allowed
from frontend.live.figures import figures
from frontend.live.hub import GONE, the_hub
from frontend.live.jobs import TROUBLE, follow_job
from frontend.live.subscriber import Subscriber, Timing
from frontend.live.waiters import end

logger = logging.getLogger(__name__)
security = logging.getLogger("slicekeeper.security")

SIGNED_OUT = 4401
SILENT = 4408
TOO_BIG = 1009

#: Characters of a message from a browser; a pong has 15.
MOST_INBOUND = 1_000
#: Digits of a position, and characters of a job's id.
MOST_DIGITS = 18
MOST_JOB = 32

TIMING = Timing()


async def live_socket(scope: WebSocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Serve one socket."""
    await receive()  # websocket.connect
    cluster: str = cast(dict[str, Any], scope)["url_route"]["kwargs"]["cluster"]
    if not await may_open(scope):
        security.warning("live socket of cluster %r refused to %s", cluster, (scope["client"] or ("?",))[0])
        await _close(send, SIGNED_OUT)
        return
    socket = Subscriber()
    try:
        leave = await _join(scope, cluster, socket)
    except UnknownCluster:
        await _close(send, GONE)
        return
    except (ClusterError, DatabaseError) as error:
        logger.warning("live: cannot read cluster %r: %s", cluster, error)
        await _close(send, TROUBLE)
        return
    figures.sockets += 1
    figures.opened += 1
    try:
        await send({"type": "websocket.accept", "subprotocol": None, "headers": []})
        await _serve(scope, receive, send, socket)
    finally:
        figures.sockets -= 1
        leave()


async def _join(scope: WebSocketScope, cluster: str, socket: Subscriber) -> Callable[[], object]:
    """Have the socket told of the cluster, or of one job of it; returns how to end that. Raises UnknownCluster."""
    query = parse_qs(scope["query_string"].decode("latin1"))
    job = query.get("job", [""])[0]
    if job:
        return asyncio.create_task(follow_job(the_hub(), socket, cluster, job[:MOST_JOB], _number(query, "after") or 0)).cancel
    channel = await the_hub().channel(cluster)
    await channel.join(socket, _number(query, "since"), query.get("epoch", [""])[0])
    return lambda: channel.leave(socket)


async def refuse(_scope: WebSocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answer on every other path."""
    await receive()
    await _close(send, GONE)


def _number(query: Mapping[str, list[str]], name: str) -> int | None:
    """A position or generation that the other side has; None where it has nothing, or says something that is none."""
    text = query.get(name, [""])[0]
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None


async def _serve(scope: WebSocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable, socket: Subscriber) -> None:
    reader = asyncio.create_task(_read(receive, socket))
    tasks = {reader, asyncio.create_task(_write(send, socket)), asyncio.create_task(_watch(scope, socket))}
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        await end(*tasks)
    # Where the browser has left, or does not read, saying goodbye would only wait.
    if socket.closing is not None and socket.sending_since is None and reader.cancelled():
        await _close(send, socket.closing)


async def _write(send: ASGISendCallable, socket: Subscriber) -> None:
    with suppress(OSError):  # the browser has left: the reader hears of it
        while (text := await socket.next()) is not None:
            await send({"type": "websocket.send", "bytes": None, "text": text})
            figures.frames += 1


async def _read(receive: ASGIReceiveCallable, socket: Subscriber) -> None:
    """Whatever a browser says is a sign of life; there is nothing else to say."""
    while True:
        message = await receive()
        if message["type"] != "websocket.receive":
            return
        socket.heard_at = time.monotonic()
        if len(message.get("text") or message.get("bytes") or "") > MOST_INBOUND:
            socket.close(TOO_BIG)


async def _watch(scope: WebSocketScope, socket: Subscriber) -> None:
    """Ping, and end the socket when it shows no life or its session has ended."""
    pinged = checked = time.monotonic()
    while True:
        await asyncio.sleep(TIMING.look)
        now = time.monotonic()
        if socket.closing is not None:  # the writer had its time to say goodbye
            return
        if socket.overdue(TIMING):
            socket.close(SILENT)
            return
        if now - pinged >= TIMING.ping:
            pinged = now
            socket.ping()
        if now - checked >= TIMING.recheck:
            checked = now
            if not await still_allowed(scope):
                socket.close(SIGNED_OUT)


async def _close(send: ASGISendCallable, code: int) -> None:
    with suppress(OSError):
        await send({"type": "websocket.close", "code": code, "reason": None})
