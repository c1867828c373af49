"""The hub: one per web process. It tails the logs that somebody watches and gives each frame, encoded once, to every socket.

Frames leave at most FRAMES_PER_SECOND times a second, the first at once. The log is read in one thread of the hub's own, everything else
happens on the event loop. Nothing here is relied on: a socket that misses a frame sees the gap and fetches a snapshot.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from django.db import Error as DatabaseError
from django.db import connections

from clusters.connectors.presence import touch_presence
from clusters.domain.errors import ClusterError, UnknownCluster
from clusters.eventlog.log import StoredLog
from clusters.eventlog.store import default_log
from frontend.live.assignments import Assignments, Generations, generations_of
from frontend.live.feed import Feed, Step
from frontend.live.figures import figures
from frontend.live.frames import Hello, Resync, text_of
from frontend.live.heads import Head
from frontend.live.subscriber import Subscriber

logger = logging.getLogger(__name__)

FRAMES_PER_SECOND = 5.0
#: Seconds between looks at the head, for what other processes wrote.
POLL = 0.1
#: Seconds before the next try when the log cannot be read.
RETRY = 1.0
#: Frames kept for browsers that come back: a minute at full rate.
RING_FRAMES = 300
#: Seconds between notes that somebody watches a cluster: a fleet that nobody watches may rest.
PRESENCE = 10.0

#: Close code: there is no such cluster, or no longer.
GONE = 4404

_T = TypeVar("_T")


class Channel:
    """The sockets of one cluster and the frames they may still need."""

    def __init__(self, hub: Hub, feed: Feed) -> None:
        self._hub = hub
        self._feed = feed
        self._ring: deque[Step] = deque(maxlen=RING_FRAMES)
        self._sockets: set[Subscriber] = set()
        self._reading = asyncio.Lock()
        self._runner: asyncio.Task[None] | None = None
        self._noted = float("-inf")
        self.wake = asyncio.Event()
        self.looked = time.monotonic()  # when the log was last read

    @property
    def silence(self) -> float:
        """Seconds since the log was last read, as far as anybody watches; any thread may ask."""
        return time.monotonic() - self.looked if self._sockets else 0.0

    async def join(self, socket: Subscriber, since: int | None, epoch: str) -> None:
        """Greet the socket, give it what it missed since a position it knows, and everything from now on."""
        await self.refresh()
        # No await from here on: no frame comes between what was missed and what follows.
        socket.greet([text_of(Hello(self._feed.epoch, self._feed.seq)), *self._missed(since, epoch)])
        self._sockets.add(socket)
        if self._runner is None:
            self._runner = asyncio.create_task(self._run())

    def leave(self, socket: Subscriber) -> None:
        """The socket is closed; the log of a cluster that nobody watches is not read."""
        self._sockets.discard(socket)
        if not self._sockets and self._runner is not None:
            self._runner.cancel()
            self._runner = None

    def close(self, code: int) -> None:
        """Close all sockets."""
        for socket in self._sockets:
            socket.close(code)

    async def refresh(self) -> bool:
        """Read the log to its head and send what changed; whether anything did."""
        async with self._reading:
            step = await self._hub.in_thread(self._feed.advance)
            self.looked = time.monotonic()
            if step is None:
                return False
            if step.resync:
                figures.resyncs += 1
                self._ring.clear()
            else:
                self._ring.append(step)
            for socket in self._sockets:
                socket.offer(step.text)
            return True

    def _missed(self, since: int | None, epoch: str) -> list[str]:
        if since is None or (epoch == self._feed.epoch and since == self._feed.seq):
            return []
        if epoch != self._feed.epoch or since > self._feed.seq or not self._ring or self._ring[0].since > since:
            return [text_of(Resync("your position is not one that can be gone on from"))]
        return [step.text for step in self._ring if step.to > since]

    async def _run(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL):
                    await self.wake.wait()
            self.wake.clear()
            await asyncio.sleep(await self._turn())

    async def _turn(self) -> float:
        """One look at the log; how long to rest then."""
        try:
            await self._note_presence()
            return 1 / FRAMES_PER_SECOND if await self.refresh() else 0.0
        except UnknownCluster:
            self.close(GONE)
        except (ClusterError, DatabaseError) as error:
            logger.warning("live: cannot read cluster %r: %s", self._feed.cluster, error)
            await self._hub.in_thread(connections.close_all)
        return RETRY

    async def _note_presence(self) -> None:
        now = time.monotonic()
        if now - self._noted >= PRESENCE:
            self._noted = now
            await self._hub.in_thread(lambda: self._hub.presence(self._feed.cluster))


class Hub:
    """All channels of this process. Make it on the event loop that serves the sockets."""

    def __init__(self, log: StoredLog, presence: Callable[[str], None] = touch_presence) -> None:
        self.presence = presence
        self.loop = asyncio.get_running_loop()
        self._log = log
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hub")
        self._channels: dict[str, Channel] = {}
        self._heads: dict[str, Head] = {}
        self._assignments: dict[str, Assignments] = {}
        self._unsubscribe = log.subscribe(self._told)

    async def channel(self, cluster: str) -> Channel:
        """The channel of a cluster; raises UnknownCluster."""
        if cluster not in self._channels:
            feed = await self.in_thread(lambda: Feed(self._log, cluster))
            self._channels.setdefault(cluster, Channel(self, feed))
        return self._channels[cluster]

    def head(self, cluster: str) -> Head:
        """The head of a cluster's log, to wait for."""
        if cluster not in self._heads:
            self._heads[cluster] = Head(cluster, lambda: self.in_thread(lambda: self._log.head(cluster)), POLL)
        return self._heads[cluster]

    def assignments(self, cluster: str) -> Assignments:
        """The assignments of a cluster's jobs, to wait for."""
        if cluster not in self._assignments:
            head = self.head(cluster)
            self._assignments[cluster] = Assignments(cluster, head, lambda jobs: self.in_thread(lambda: self._see(cluster, jobs)))
        return self._assignments[cluster]

    def _see(self, cluster: str, jobs: Collection[str]) -> tuple[int, Generations]:
        with self._log.live(cluster).reading() as state:
            return state.seq, generations_of(state, jobs)

    async def in_thread(self, work: Callable[[], _T]) -> _T:
        """Run what may block; one at a time, so that one database connection is enough."""
        return await self.loop.run_in_executor(self._thread, work)

    @property
    def silence(self) -> float:
        """Seconds since the watched log was read that has waited longest; any thread may ask."""
        return max((channel.silence for channel in tuple(self._channels.values())), default=0.0)

    def _told(self, cluster: str) -> None:
        """Something was appended in this process, by any thread."""
        for waking in (self._channels.get(cluster), self._heads.get(cluster)):
            if waking is not None:
                with suppress(RuntimeError):  # the loop has just been closed
                    self.loop.call_soon_threadsafe(waking.wake.set)

    async def close(self) -> None:
        """Stop reading and give the database connection back."""
        self._unsubscribe()
        for channel in self._channels.values():
            channel.close(1001)
        await self.in_thread(connections.close_all)
        self._thread.shutdown()


_hub: Hub | None = None


def the_hub() -> Hub:
    """The hub of the running event loop; a process serves on one."""
    global _hub
    if _hub is None or _hub.loop is not asyncio.get_running_loop():
        _hub = Hub(default_log())
    return _hub


def longest_silence() -> float:
    """Of this process's hub, if it has one."""
    return _hub.silence if _hub is not None else 0.0
