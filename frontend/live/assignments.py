"""Who waits for a job to be assigned anew: one look at the state serves all of a cluster's waiters, and none of them holds a thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress

from django.db import Error as DatabaseError

from clusters.domain.errors import ClusterError
from clusters.domain.jobs import TERMINAL
from clusters.domain.state import ClusterState
from frontend.live.heads import Head

logger = logging.getLogger(__name__)

#: Seconds between two looks: what happens together is told together.
PAUSE = 0.02

#: Generation of each job; none where it will have no other.
Generations = dict[str, int | None]


def generations_of(state: ClusterState, jobs: Collection[str]) -> Generations:
    """The present generation of each job; none of one that has ended, or that nobody knows."""
    return {name: None if (job := state.jobs.get(name)) is None or job.state in TERMINAL else job.generation for name in jobs}


class Assignments:
    """The assignments of one cluster's jobs, as far as somebody waits for them. All calls come from one event loop."""

    def __init__(self, head: Head, look: Callable[[Collection[str]], Awaitable[tuple[int, Generations]]]) -> None:
        self._head = head
        self._look = look
        self._waiting: dict[asyncio.Future[None], tuple[str, int]] = {}
        self._joined = asyncio.Event()
        self._runner: asyncio.Task[None] | None = None

    async def beyond(self, job: str, generation: int) -> None:
        """Return once the job has a later generation, or none to come, or cannot be read: asking again then says which."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[future] = (job, generation)
        self._joined.set()  # what has changed since its caller looked is seen by the next look
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
            self._joined.clear()
            seq = await self._see()
            grown = asyncio.create_task(self._head.beyond(seq))
            joined = asyncio.create_task(self._joined.wait())
            try:
                await asyncio.wait({grown, joined}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (grown, joined):
                    task.cancel()
                    with suppress(asyncio.CancelledError):
                        await task
            await asyncio.sleep(PAUSE)

    async def _see(self) -> int:
        """Look once; the position looked at."""
        jobs = {job for job, _ in self._waiting.values()}
        try:
            seq, generations = await self._look(jobs)
        except (ClusterError, DatabaseError) as error:
            logger.warning("live: cannot read assignments: %s", error)
            seq, generations = 0, dict.fromkeys(jobs)
        for future, (job, known) in self._waiting.items():
            if job not in generations or future.done():
                continue
            now = generations[job]
            if now is None or now > known:
                future.set_result(None)
        return seq
