"""S9 as a page sees it: 2,000 signals a second on 27 nodes, and how long what they change takes to the browsers that follow.

The whole way is real: a server in a process of its own, batches over the REST API with a token, the log, the pass, the hub, websockets.
Beside the storm one node after the other is said to be out of reach, and to be back, which shows whatever else is said of it. From
the answer to that, and from its sending, until each browser has the frame that shows it is the lag; the floor is the same in calm. The
policy lets nodes recover at once, so that the storm changes what pages show without end. Server and clients share the machine.

BENCH=full plays the full minute. With SLICEKEEPER_DATABASE_URL and SLICEKEEPER_REDIS_URL (scripts/services.env) the parts of production
are measured too.
"""

from __future__ import annotations

import base64
import json
import os
import random
import socket
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from config import env
from tests.bench.bursting import BROWSERS, CLUSTER, FEEDS, OUTCOMES, RATE, Feed, Measured, Target, measured
from tests.bench.harness import Row, table
from tests.bench.watching import Browsers, Change, Memory, one_that_does_not_read
from tests.e2e.server import Server
from tests.production.conftest import Installation
from tests.production.conftest import installation as installation  # a fixture
from tests.support.storm import NODES, RACKS, TWICE, Said, folded, storm

pytestmark = pytest.mark.bench

GOAL_SECONDS = 2.0
SECONDS = 60 if os.environ.get("BENCH") == "full" else 15
CALM_SECONDS = 10
REST_SECONDS = 5
INVENTORY = {
    "kind": "SlicekeeperInventory",
    "gpus": 4,
    "blocks": [{"name": "b1", "racks": [{"name": rack, "nodes": f"{rack}-n[1-9]"} for rack in RACKS]}],
}


@pytest.fixture(params=["one process", "production parts"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    """A server, or several, with the cluster and a policy that lets nodes recover at once."""
    file = tmp_path / "inventory.json"
    file.write_text(json.dumps(INVENTORY))
    with ExitStack() as stack:
        if request.param == "one process":
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            kept = {name: value for name, value in os.environ.items() if not name.startswith("SLICEKEEPER_")}
            server = Server(environ={**kept, env.DATA_DIR: str(tmp_path), env.PORT: str(port)}, directory=tmp_path)
            server.manage("migrate", "--verbosity", "0")
            stack.callback(server.stop)
            server.start()
            assert server.process is not None
            urls, processes, manage = [server.url], [server.process.pid], server.manage
        else:
            parts: Installation = request.getfixturevalue("installation")
            parts.services("start")
            urls, manage = parts.urls.split(), parts.manage
            processes = [process for part in parts.parts if part.port and (process := parts.place.running(part.name))]
            manage("login_link", "--base-url", urls[0])  # makes the first user
        manage("import_cluster", str(file), "--name", CLUSTER)
        token = manage("make_token", "--user", "admin", "--role", "admin").strip()
        found = Target(name=request.param, urls=urls, processes=processes, token=token)
        values = {"recovery_quiet_s": 0, "breaker_percent": 100}
        with found.api() as api:
            api.ask("PUT", "policy/", json.dumps({"policy": values, "reason": "bench", "expected_version": 1}).encode())
        yield found


def stands(target: Target) -> dict[str, Said]:
    """What stands against each node by what the feeds of the storm have said."""
    found = dict[str, Said]()
    with target.api() as api:
        for node in NODES:
            heard = api.ask("GET", f"nodes/{node}/signals/")["items"]
            said = {(signal["check"], signal["code"]) for signal in heard if signal["stands"] and "/storm-" in signal["source"]}
            if said:
                found[node] = said
    return found


def snapshot(target: Target) -> tuple[dict[str, Any], list[int]]:
    """The state, and the condition of each node in the order that it is drawn in."""
    with target.api() as api:
        body = api.ask("GET", "snapshot/")
    return body, list(base64.b64decode(body["condition"]))


def test_a_burst_as_pages_see_it(target: Target) -> None:
    draw = random.Random(9)
    count = round(RATE * SECONDS / (1 + TWICE) / FEEDS)
    feeds = [Feed(number=number, told=storm(draw, count, NODES[number::FEEDS])) for number in range(FEEDS)]
    begun, shown = snapshot(target)
    browsers = Browsers(target.urls, BROWSERS, CLUSTER, target.token, begun, shown)
    with browsers.following(), one_that_does_not_read(target.urls[0], CLUSTER, target.token):
        calm = measured(target, browsers, (), CALM_SECONDS)
        burst = measured(target, browsers, feeds, SECONDS)
        with Memory(target.processes) as after:
            time.sleep(REST_SECONDS)
    _, last = snapshot(target)
    counts = sum((feed.counts for feed in feeds), Counter[str]())
    assert counts["new"] + counts["repeated"] + counts["unchanged"] == counts["received"]
    assert stands(target) == {node: said for feed in feeds for node, said in folded(feed.told).items()}
    assert all(browser.condition == last for browser in browsers.browsers)
    told = ", ".join(f"{counts[outcome]:,} {outcome}" for outcome in OUTCOMES)
    table(
        f"a burst as {BROWSERS} pages see it, {target.name}, {SECONDS} s, {told}; goal: lag < {GOAL_SECONDS:g} s",
        [*rows_of_pages(burst, calm, browsers), *rows_of_the_server(burst, calm, feeds, after.found)],
    )


def rows_of_pages(burst: Measured, calm: Measured, browsers: Browsers) -> Iterator[Row]:
    yield from lag_rows("answer to frame", burst, calm, lambda change: change.answered)
    yield from lag_rows("sending to frame", burst, calm, lambda change: change.sent)
    yield Row("changes that a browser did not see", f"{unseen(burst)} of {len(burst.changes) * BROWSERS:,}", f"{unseen(calm)}", "")
    troubles = ((browser.gaps, browser.resyncs, browser.closed) for browser in browsers.browsers)
    yield Row("gaps, resyncs, sockets closed", ", ".join(str(sum(trouble)) for trouble in zip(*troubles, strict=True)), "0, 0, 0", "")
    yield Row("frames that a browser got", f"{statistics.mean(browser.frames for browser in browsers.browsers):,.0f}", "", "")


def rows_of_the_server(burst: Measured, calm: Measured, feeds: Sequence[Feed], after: Sequence[float]) -> Iterator[Row]:
    received = sum(feed.counts["received"] for feed in feeds)
    answers = [second for feed in feeds for second in feed.took]
    yield Row("signals taken", f"{received / burst.seconds:,.0f}/s", f"{RATE:,}/s due", f"{received / burst.seconds / RATE:.2f}x")
    yield Row("batches of up to 1,000 answered: p50, max", f"{at(answers, 50) * 1e3:.0f}, {max(answers) * 1e3:.0f} ms", "", "")
    yield Row("the last batch was sent late by", f"{max(feed.late for feed in feeds):.2f} s", "", "")
    for name, percent in (("p99", 99), ("max", 100)):
        mine, floor = at(burst.pongs, percent), at(calm.pongs, percent)
        yield Row(f"event loop answers: {name}", f"{mine * 1e3:.0f} ms", f"{floor * 1e3:.0f} ms in calm", "")
    yield Row("CPU of the server", f"{burst.cpu / burst.seconds:.0%} of a core", f"{calm.cpu / calm.seconds:.0%} in calm", "")
    yield Row("CPU of the server for each signal", f"{burst.cpu / received * 1e6:.0f} us", "", "")
    yield Row("memory at its peak", f"{max(burst.memory):.0f} MiB", f"{calm.memory[-1]:.0f} MiB before", "")
    yield Row("memory by quarters of the storm", ", ".join(f"{max(part):.0f}" for part in quarters(burst.memory)), "", "")
    yield Row(f"memory {REST_SECONDS} s after", f"{after[-1]:.0f} MiB", "", "")


def lag_rows(what: str, burst: Measured, calm: Measured, since: Callable[[Change], float]) -> Iterator[Row]:
    for name, percent in (("p50", 50), ("p99", 99), ("max", 100)):
        mine, floor = at(burst.lags(since), percent), at(calm.lags(since), percent)
        yield Row(f"{what}: {name}", f"{mine * 1e3:.0f} ms", f"{floor * 1e3:.0f} ms in calm", f"{mine / GOAL_SECONDS:.2f} of goal")


def at(values: Sequence[float], percent: int) -> float:
    """The value that so many percent are not above."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def unseen(measured: Measured) -> int:
    return sum(BROWSERS - len(change.seen) for change in measured.changes)


def quarters(values: Sequence[float]) -> list[Sequence[float]]:
    size = max(1, len(values) // 4)
    return [values[:size], values[size : 2 * size], values[2 * size : 3 * size], values[3 * size :]]
