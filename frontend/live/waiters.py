"""Waiting without a thread: one look at what may have changed serves all who wait for it; and tasks that end together."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import Any, Generic, TypeVar

from django.db import Error as DatabaseError

from clusters.domain.errors import ClusterError

logger = logging.getLogger(__name__)

Wanted = TypeVar("Wanted")


class Waiters(ABC, Generic[Wanted]):
    """Those who wait for news of one thing. As long as there are any, a task looks, tells those for whom there is news, and rests.

    All calls come from one event loop.
    """

    def __init__(self, thing: str) -> None:
        self._thing = thing  # as a line in the log names it
        self._waiting: dict[asyncio.Future[None], Wanted] = {}
        self._runner: asyncio.Task[None] | None = None
        self.wake = asyncio.Event()  # ends a rest: somebody has joined, who may have seen less than the last look, or something happened

    @abstractmethod
    async def look(self, wanted: Collection[Wanted]) -> Callable[[Wanted], bool]:
        """Look once, for those who wait; what says to whom there is news. Raises ClusterError or DatabaseError."""

    @abstractmethod
    async def rest(self) -> None:
        """Until the next look is worth while."""

    async def beyond(self, wanted: Wanted) -> None:
        """Return once there is news, or nothing can be read any more: asking again then says why."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[future] = wanted
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
            is_news = await self._looked()
            for future, wanted in self._waiting.items():
                if is_news(wanted) and not future.done():
                    future.set_result(None)
            await self.rest()

    async def _looked(self) -> Callable[[Wanted], bool]:
        try:
            return await self.look(tuple(self._waiting.values()))
        except (ClusterError, DatabaseError) as error:
            logger.warning("live: cannot read %s: %s", self._thing, error)
            return lambda _: True


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel the tasks, and return once they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
