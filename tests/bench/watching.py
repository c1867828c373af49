"""The far end of a live cluster, measured: browsers that follow it, one that does not read, the server's memory and its event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from clusters.domain.books import CONDITION_CODE, Condition

#: Of a node that nobody reaches: whatever else is said of it, this is what it is.
AWAY = CONDITION_CODE[Condition.UNKNOWN]
#: Bytes that the system keeps for a browser that does not read: the least it can be told.
LITTLE = 2_304
LOOK_SECONDS = 0.1
PING_SECONDS = 0.02


@dataclass(slots=True, kw_only=True)
class Change:
    """A node is said to be out of reach, or to be back: when that was sent, answered, and seen by each browser (seconds of one clock)."""

    node: str
    away: bool
    sent: float
    answered: float = 0.0
    seen: dict[int, float] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Browser:
    """One that follows: its position, what it shows, and what went wrong."""

    url: str
    epoch: str
    reached: int
    condition: list[int]
    frames: int = 0
    gaps: int = 0
    resyncs: int = 0
    closed: bool = False


class Browsers:
    """All that follow one cluster, on an event loop of their own."""

    def __init__(self, urls: Sequence[str], count: int, cluster: str, token: str, snapshot: dict[str, Any], shown: list[int]) -> None:
        self.nodes: list[str] = snapshot["nodes"]
        self.browsers = [
            Browser(url=urls[number % len(urls)], epoch=snapshot["epoch"], reached=snapshot["seq"], condition=list(shown))
            for number in range(count)
        ]
        self.waiting: dict[str, Change] = {}  # by node: what its next frame should show
        self.pongs: list[float] = []  # seconds until the server's event loop answered a ping of the protocol, which asks nothing else
        self._path = f"/ws/clusters/{cluster}/"
        self._token = token
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="browsers", daemon=True)

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        """All of them, for as long as the body runs."""
        self._thread.start()
        tasks = asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(60)
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(_end(tasks), self._loop).result(60)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)
            self._loop.close()

    async def _open(self) -> list[asyncio.Task[None]]:
        sockets = [await self._connect(browser) for browser in self.browsers]
        following = [asyncio.create_task(self._follow(number, opened)) for number, opened in enumerate(sockets)]
        return [*following, asyncio.create_task(self._ping(sockets[0]))]

    async def _ping(self, opened: ClientConnection) -> None:
        while True:
            await asyncio.sleep(PING_SECONDS)
            self.pongs.append(await (await opened.ping()))

    async def _connect(self, browser: Browser) -> ClientConnection:
        url = f"{browser.url.replace('http', 'ws', 1)}{self._path}?since={browser.reached}&epoch={browser.epoch}"
        headers = {"Authorization": f"Bearer {self._token}"}
        return await connect(url, origin=browser.url, additional_headers=headers, compression=None, max_size=None)  # type: ignore[arg-type]

    async def _follow(self, number: int, opened: ClientConnection) -> None:
        browser = self.browsers[number]
        try:
            async for text in opened:
                now = time.perf_counter()
                frame = msgspec.json.decode(text)
                if frame["type"] == "ping":
                    await opened.send('{"type":"pong"}')
                elif frame["type"] == "resync":
                    browser.resyncs += 1
                elif frame["type"] == "delta":
                    self._take(number, browser, frame, now)
        except ConnectionClosed:
            browser.closed = True
        finally:
            await opened.close()

    def _take(self, number: int, browser: Browser, frame: dict[str, Any], now: float) -> None:
        browser.frames += 1
        browser.gaps += frame["from"] > browser.reached
        browser.reached = frame["to"]
        for place, condition, _, _ in frame["nodes"]:
            browser.condition[place] = condition
            change = self.waiting.get(self.nodes[place])
            if change is not None and number not in change.seen and (condition == AWAY) == change.away:
                change.seen[number] = now


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.contextmanager
def one_that_does_not_read(url: str, cluster: str, token: str) -> Iterator[socket.socket]:
    """A browser whose handshake is the last that it reads."""
    host = urlsplit(url)
    with socket.socket() as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LITTLE)
        stuck.connect((host.hostname, host.port))
        lines = (
            f"GET /ws/clusters/{cluster}/ HTTP/1.1", f"Host: {host.netloc}", f"Origin: {url}", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", f"Authorization: Bearer {token}", "", "",
        )  # fmt: skip
        stuck.sendall("\r\n".join(lines).encode())
        answer = stuck.recv(64)
        if b" 101 " not in answer:
            raise RuntimeError(f"the handshake was refused: {answer!r}")
        yield stuck


def spent(processes: Sequence[int]) -> float:
    """Seconds of CPU that the processes have used so far, all of their threads together."""
    fields = [Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split() for process in processes]
    return sum(int(field[11]) + int(field[12]) for field in fields) / os.sysconf("SC_CLK_TCK")


class Memory:
    """Resident memory of some processes together, in MiB, looked at again and again for as long as it is used as a context."""

    def __init__(self, processes: Sequence[int]) -> None:
        self.found: list[float] = []
        self._files = [Path(f"/proc/{process}/statm") for process in processes]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memory", daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)

    def _run(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            pages = sum(int(file.read_text(encoding="ascii").split()[1]) for file in self._files)
            self.found.append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
