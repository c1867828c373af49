"""Who waits for a job to be assigned anew."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

from clusters.domain.jobs import TERMINAL
from clusters.domain.state import ClusterState
from frontend.live.heads import Head
from frontend.live.waiters import Waiters, end

#: Seconds between two looks: what happens together is told together.
PAUSE = 0.02

#: Generation of each job; none where it will have no other.
Generations = dict[str, int | None]

#: A job, and the generation that whoever waits knows.
Known = tuple[str, int]


def generations_of(state: ClusterState, jobs: Collection[str]) -> Generations:
    """The present generation of each job; none of one that has ended, or that nobody knows."""
    return {name: None if (job := state.jobs.get(name)) is None or job.state in TERMINAL else job.generation for name in jobs}


class Assignments(Waiters[Known]):
    """The assignments of one cluster's jobs; it is news that a job has a later generation, or will have none."""

    def __init__(self, cluster: str, head: Head, see: Callable[[Collection[str]], Awaitable[tuple[int, Generations]]]) -> None:
        super().__init__(f"the assignments of cluster {cluster!r}")
        self._head = head
        self._see = see
        self._seen = 0  # the position looked at

    async def look(self, wanted: Collection[Known]) -> Callable[[Known], bool]:
        self._seen = 0  # should it fail, everybody is told, and who waits then needs another look
        self._seen, generations = await self._see({job for job, _ in wanted})

        def is_news(known: Known) -> bool:
            job, generation = known
            if job not in generations:  # it joined during the look
                return False
            now = generations[job]
            return now is None or now > generation

        return is_news

    async def rest(self) -> None:
        grown, woken = asyncio.create_task(self._head.beyond(self._seen)), asyncio.create_task(self.wake.wait())
        try:
            await asyncio.wait({grown, woken}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end(grown, woken)
        await asyncio.sleep(PAUSE)
