"""Who waits for a log to grow: one look at its head serves all of them, and none of them holds a thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from django.db import Error as DatabaseError

from clusters.domain.errors import ClusterError

logger = logging.getLogger(__name__)


class Head:
    """The head of one log, as far as somebody waits for it. All calls come from one event loop."""

    def __init__(self, cluster: str, read: Callable[[], Awaitable[int]], poll: float) -> None:
        self._cluster = cluster
        self._poll = poll  # seconds between looks, for what other processes wrote
        self._read = read
        self._waiting: dict[asyncio.Future[None], int] = {}
        self._runner: asyncio.Task[None] | None = None
        self.wake = asyncio.Event()

    async def beyond(self, seq: int) -> None:
        """Return once the log has events behind a position, or can no longer be read: asking again then says why."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[future] = seq
        self.wake.set()
        if self._runner is None or self._runner.done():
            self._runner = asyncio.create_task(self._run())
        try:
            await future
        finally:
            del self._waiting[future]
            if not self._waiting and self._runner is not None:
                self._runner.cancel()
                self._runner = None

    async def _run(self) -> None:
        while True:
            self.wake.clear()
            await self._look()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._poll):
                    await self.wake.wait()

    async def _look(self) -> None:
        try:
            head: int | None = await self._read()
        except (ClusterError, DatabaseError) as error:
            logger.warning("live: cannot read the head of cluster %r: %s", self._cluster, error)
            head = None
        for future, seq in self._waiting.items():
            if (head is None or head > seq) and not future.done():
                future.set_result(None)
