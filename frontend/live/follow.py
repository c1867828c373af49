"""Requests that wait for the next event (`events/?wait=30`), or for a job's next assignment, kept waiting outside of Django.

A view of Django holds a thread for as long as it runs, an asynchronous one too under middleware that is not. So a view that has nothing
to tell says how long its caller wants to wait, and answers all the same. Its answer is kept back here; the caller waits on the event loop
until there is news, and the request is asked again from the position reached, as a new one: past the same gate, as whoever the caller is
by then. Where nobody waits here (a server without ASGI, or too many callers), the first answer is given at once: it is true, if early.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode

from asgiref.typing import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGIReceiveEvent,
    ASGISendCallable,
    ASGISendEvent,
    HTTPScope,
    Scope,
)
from django.http import HttpRequest

from frontend.live.hub import the_hub
from frontend.live.waiters import end

#: The longest that a request may wait, in seconds: less than what proxies usually allow.
MOST_SECONDS = 60
#: Requests of one process that may wait at a time.
MOST_WAITING = 2_000
#: Seconds between askings of a request: what it waits for may be rare among what happens.
PAUSE = 0.2

POSITION = "after"
_TURN = "slicekeeper.turn"


@dataclass(slots=True, kw_only=True)
class Turn:
    """One asking of a request."""

    cluster: str = ""
    reached: int = 0  # there is nothing for the caller up to this position
    seconds: int = 0  # that the caller wants to wait for more; 0 = it has its answer
    assignment: tuple[str, int] | None = None  # (job, generation): only a later assignment of the job is news


def nothing_yet(request: HttpRequest, *, cluster: str, reached: int, seconds: int, assignment: tuple[str, int] | None = None) -> None:
    """A view has nothing to tell up to a position, and its caller would wait."""
    scope: Mapping[str, Any] = getattr(request, "scope", {})
    turn = scope.get(_TURN)
    if isinstance(turn, Turn):
        turn.cluster, turn.reached, turn.seconds, turn.assignment = cluster, reached, seconds, assignment


class Following:
    """Keeps requests waiting that want to."""

    def __init__(self, app: Any) -> None:
        self._app: ASGI3Application = app  # Django's types call the same thing by other names
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] == "http" and scope["method"] == "GET" and b"wait=" in scope["query_string"]:
            await self._follow(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _follow(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        gone = asyncio.create_task(_gone(receive))
        try:
            answer = await self._answer(scope, gone)
            if gone.done():
                gone.result()  # the body may have been too large
                return
            for message in answer:
                await send(message)
        finally:
            await end(gone)

    async def _answer(self, scope: HTTPScope, gone: asyncio.Task[None]) -> list[ASGISendEvent]:
        """The first answer that tells something, or the last one when the time is up."""
        began = asyncio.get_running_loop().time()
        turn, answer = await self._ask(scope, gone)
        ends = began + turn.seconds
        while turn.seconds and not gone.done() and await self._wait(turn, ends, gone):
            turn, answer = await self._ask(scope if turn.assignment else _from(scope, turn.reached), gone)
        return answer

    async def _ask(self, scope: HTTPScope, gone: asyncio.Task[None]) -> tuple[Turn, list[ASGISendEvent]]:
        turn = Turn()
        answer: list[ASGISendEvent] = []
        asked = False

        async def receive() -> ASGIReceiveEvent:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await asyncio.wait({gone})
            return {"type": "http.disconnect"}

        async def send(message: ASGISendEvent) -> None:
            answer.append(message)

        await self._app(cast(HTTPScope, {**scope, _TURN: turn}), receive, send)
        return turn, answer

    async def _wait(self, turn: Turn, ends: float, gone: asyncio.Task[None]) -> bool:
        """Whether there was news before the time was up."""
        if self._waiting >= MOST_WAITING:
            return False
        self._waiting += 1
        grown = asyncio.create_task(_grown(turn))
        try:
            left = max(0.0, ends - asyncio.get_running_loop().time())
            await asyncio.wait({grown, gone}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if grown.done():
                grown.result()  # what went wrong there would go wrong again at once
            return grown.done() and not gone.done()
        except asyncio.CancelledError:  # the server stops: an early answer is better than none
            return False
        finally:
            self._waiting -= 1
            await end(grown)


async def _grown(turn: Turn) -> None:
    if turn.assignment is not None:
        await the_hub().assignments(turn.cluster).beyond(turn.assignment)
        return
    await the_hub().head(turn.cluster).beyond(turn.reached)
    await asyncio.sleep(PAUSE)  # what happens together is told together


async def _gone(receive: ASGIReceiveCallable) -> None:
    """Return when the caller has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _from(scope: HTTPScope, position: int) -> HTTPScope:
    """The same question from another position."""
    pairs = parse_qsl(scope["query_string"].decode("latin1"), keep_blank_values=True)
    query = [(name, value) for name, value in pairs if name != POSITION]
    return cast(HTTPScope, {**scope, "query_string": urlencode([*query, (POSITION, str(position))]).encode()})
