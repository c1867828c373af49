"""A storm of signals over the REST API, and what becomes of single nodes beside it, measured."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import cycle
from typing import Any
from urllib.parse import urlsplit

from clusters.domain.signals import SignalKind
from clusters.signals.model import Signal
from tests.bench.watching import Browsers, Change, Memory, spent
from tests.support.storm import NODES, batches, late_and_twice, plain_of

CLUSTER = "burst"
API = f"/api/v1/clusters/{CLUSTER}/"
RATE = 2_000  # signals a second, the late and the repeated ones among them
FEEDS = 4  # each speaks for its own nodes, over a connection of its own
BROWSERS = 20
CHANGES = 5  # a second
OUTCOMES = ("received", "new", "repeated", "unchanged")
PATIENCE = 20.0  # seconds that the last changes may take to be seen


class Api:
    """One connection of one token."""

    def __init__(self, url: str, token: str) -> None:
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        """What is answered, which must be well."""
        self._connection.request(method, API + path, body, self._headers)
        answer = self._connection.getresponse()
        told = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{method} {path} was answered with {answer.status}: {told[:500]!r}")
        return json.loads(told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is measured."""

    name: str
    urls: Sequence[str]
    processes: Sequence[int]  # that serve
    token: str

    def api(self, number: int = 0) -> Api:
        return Api(self.urls[number % len(self.urls)], self.token)


@dataclass(slots=True, kw_only=True)
class Feed:
    """One source of the storm and what became of it."""

    number: int
    told: list[Signal]
    took: list[float] = field(default_factory=list)  # seconds of each answer
    late: float = 0.0  # seconds that the last batch was sent too late
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return f"storm-{self.number}"

    def send(self, target: Target, began: float) -> None:
        """All of it, at its share of the rate."""
        draw, sent = random.Random(self.name), 0
        with target.api(self.number) as api:
            for batch in batches(late_and_twice(self.told, draw), draw):
                due = began + sent / (RATE / FEEDS)
                body = json.dumps({"feed": self.name, "signals": list(map(plain_of, batch))}).encode()
                time.sleep(max(0.0, due - time.perf_counter()))
                asked = time.perf_counter()
                self.counts.update(
                    {outcome: number for outcome, number in api.ask("POST", "signals/", body).items() if outcome in OUTCOMES}
                )
                self.took.append(time.perf_counter() - asked)
                self.late = asked - due
                sent += len(batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was seen in one stretch of time."""

    changes: list[Change]
    seconds: float  # that signals were sent for
    cpu: float  # seconds that the server used meanwhile
    memory: list[float]  # MiB
    pongs: list[float]  # seconds

    def lags(self, since: Callable[[Change], float]) -> list[float]:
        """Until each browser had the frame that shows each change; a frame may come before the answer."""
        return [max(0.0, seen - since(change)) for change in self.changes for seen in change.seen.values()]


def change_nodes(target: Target, browsers: Browsers, stop: threading.Event, done: list[Change]) -> None:
    """One node after the other, over a connection of its own, until told to stop."""
    with target.api() as api:
        for node in cycle(NODES):
            if stop.wait(1 / CHANGES):
                return
            before = browsers.waiting.get(node)
            change = Change(node=node, away=before is None or not before.away, sent=time.perf_counter())
            kind = SignalKind.UNREACHABLE if change.away else SignalKind.RECOVERED
            body = {"feed": "people", "signals": [{"node": node, "code": "ping", "kind": kind.value, "lasting": True}]}
            browsers.waiting[node] = change
            api.ask("POST", "signals/", json.dumps(body).encode())
            change.answered = time.perf_counter()
            done.append(change)


def measured(target: Target, browsers: Browsers, feeds: Sequence[Feed], seconds: float) -> Measured:
    """Change nodes for a while, or for as long as the feeds send, and wait until all have seen it or time is up."""
    stop, done = threading.Event(), list[Change]()
    changing = threading.Thread(target=change_nodes, args=(target, browsers, stop, done))
    browsers.pongs = []
    with Memory(target.processes) as memory:
        began, used = time.perf_counter(), spent(target.processes)
        sending = [threading.Thread(target=feed.send, args=(target, began)) for feed in feeds]
        for thread in (changing, *sending):
            thread.start()
        for thread in sending:
            thread.join()
        time.sleep(max(0.0, began + seconds - time.perf_counter()))
        took, used = time.perf_counter() - began, spent(target.processes) - used
        stop.set()
        changing.join()
        until = time.perf_counter() + PATIENCE
        while any(len(change.seen) < BROWSERS for change in done) and time.perf_counter() < until:
            time.sleep(0.05)
    return Measured(changes=done, seconds=took, cpu=used, memory=memory.found, pongs=browsers.pongs)
