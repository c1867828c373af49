"""Who waits for a log to grow."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress

from frontend.live.waiters import Waiters


class Head(Waiters[int]):
    """The head of one log, and the positions that somebody wants it to get beyond."""

    def __init__(self, cluster: str, read: Callable[[], Awaitable[int]], poll: float) -> None:
        super().__init__(f"the head of cluster {cluster!r}")
        self._read = read
        self._poll = poll  # seconds between looks, for what other processes wrote

    async def look(self, wanted: Collection[int]) -> Callable[[int], bool]:
        head = await self._read()
        return lambda seq: head > seq

    async def rest(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._poll):
                await self.wake.wait()
