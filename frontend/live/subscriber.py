"""One socket as the hub sees it: a bounded queue, and when it last did something."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass

from frontend.live.frames import PING, Resync, text_of

#: Frames that may wait for one socket: 12 s at full rate. The frames are shared, so a slow socket costs references.
QUEUE_FRAMES = 64

OVERFLOWED = text_of(Resync("this connection is too slow"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long a socket may be silent or stuck, in seconds."""

    look: float = 5.0  # between looks at all of these
    ping: float = 15.0  # between pings
    silence: float = 60.0  # without any answer: half open, close it
    stuck: float = 30.0  # in the sending of one frame: not reading, close it
    recheck: float = 60.0  # between looks at whether the session still holds


class Subscriber:
    """What is to be sent to one socket. All calls come from the hub's event loop."""

    def __init__(self) -> None:
        self._frames: deque[str] = deque()
        self._some = asyncio.Event()
        self.heard_at = time.monotonic()
        self.sending_since: float | None = None
        self.closing: int | None = None  # the code to close with
        self._finishing: int | None = None  # the code to close with once everything is sent

    def offer(self, text: str) -> None:
        """Queue a frame. Where too many wait, all of them give way to the order to fetch a snapshot."""
        if len(self._frames) >= QUEUE_FRAMES:
            self._frames.clear()
            text = OVERFLOWED
        self._frames.append(text)
        self._some.set()

    def greet(self, texts: list[str]) -> None:
        """Queue what a new socket gets first, however much that is."""
        self._frames.extend(texts)
        self._some.set()

    def close(self, code: int) -> None:
        """Have the socket closed."""
        self.closing = code
        self._some.set()

    def finish(self, code: int) -> None:
        """Have the socket closed once everything was sent."""
        self._finishing = code
        self._some.set()

    async def next(self) -> str | None:
        """The next frame, or None once the socket is to be closed."""
        self.sending_since = None
        while not self._frames and self.closing is None:
            if self._finishing is not None:
                self.closing = self._finishing
                return None
            self._some.clear()
            await self._some.wait()
        if self.closing is not None:
            return None
        self.sending_since = time.monotonic()
        return self._frames.popleft()

    def ping(self) -> None:
        """Ask for a sign of life."""
        self.offer(PING)

    def overdue(self, timing: Timing) -> bool:
        """Whether the other side has shown no life for too long."""
        now = time.monotonic()
        stuck = self.sending_since is not None and now - self.sending_since > timing.stuck
        return stuck or now - self.heard_at > timing.silence
