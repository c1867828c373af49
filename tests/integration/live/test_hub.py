"""The hub: what sockets are sent, when, and what happens to those that fall behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from django.db import DatabaseError

from clusters.domain.errors import UnknownCluster
from clusters.domain.health_events import NodeFailed, RepairFinished
from clusters.domain.inventory_events import NodeRemoved
from frontend.live import feed, hub
from frontend.live.hub import RING_FRAMES, Channel, Hub
from frontend.live.subscriber import QUEUE_FRAMES, Subscriber, Timing
from tests.integration.live.small import NAME, SmallCluster
from tests.support.patience import PATIENCE


@pytest.fixture
def cluster() -> SmallCluster:
    return SmallCluster()


@pytest.fixture
def noted() -> list[str]:
    """Clusters that were noted as watched."""
    return []


@pytest_asyncio.fixture
async def the_hub(cluster: SmallCluster, noted: list[str], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hub]:
    monkeypatch.setattr(hub, "FRAMES_PER_SECOND", 100.0)
    made = Hub(cluster.log, noted.append)
    yield made
    await made.close()


async def frame(socket: Subscriber) -> dict[str, Any]:
    """The next frame, which must come."""
    async with asyncio.timeout(PATIENCE):
        text = await socket.next()
    assert text is not None
    decoded: dict[str, Any] = json.loads(text)
    return decoded


async def join(made: Hub, since: int | None = None, epoch: str = "") -> tuple[Channel, Subscriber, dict[str, Any]]:
    channel = await made.channel(NAME)
    socket = Subscriber()
    await channel.join(socket, since, epoch)
    return channel, socket, await frame(socket)


def fail(cluster: SmallCluster, number: int) -> int:
    """Fail and repair the same node by turns."""
    event = NodeFailed(node="r1-n1", reason="fatal") if number % 2 == 0 else RepairFinished(node="r1-n1")
    return cluster.add(event)


@pytest.mark.asyncio
async def test_a_socket_is_greeted_with_the_head_and_sent_what_comes(the_hub: Hub, cluster: SmallCluster) -> None:
    head = cluster.log.head(NAME)
    channel, socket, hello = await join(the_hub)
    assert (hello["type"], hello["seq"]) == ("hello", head)
    fail(cluster, 0)
    delta = await frame(socket)
    assert (delta["type"], delta["epoch"], delta["from"], delta["to"]) == ("delta", hello["epoch"], head, head + 1)
    assert [place for place, *_ in delta["nodes"]] == [0, 3]  # the failed one, and the one that is no longer left over from a slice
    channel.leave(socket)


@pytest.mark.asyncio
async def test_every_socket_is_sent_the_same_text(the_hub: Hub, cluster: SmallCluster) -> None:
    channel, one, _ = await join(the_hub)
    _, other, _ = await join(the_hub)
    fail(cluster, 0)
    assert await one.next() is await other.next()
    channel.leave(one)
    channel.leave(other)


@pytest.mark.asyncio
async def test_frames_join_on_to_each_other_without_a_gap(the_hub: Hub, cluster: SmallCluster) -> None:
    channel, socket, hello = await join(the_hub)
    position = hello["seq"]
    last = 0
    for number in range(30):
        last = fail(cluster, number)
        if number % 7 == 0:
            await asyncio.sleep(0.02)
    while position < last:
        delta = await frame(socket)
        assert delta["from"] == position < delta["to"]
        position = delta["to"]
    channel.leave(socket)


@pytest.mark.asyncio
async def test_what_another_process_wrote_is_found_by_looking(the_hub: Hub, cluster: SmallCluster) -> None:
    channel, socket, _ = await join(the_hub)
    the_hub._unsubscribe()
    fail(cluster, 0)
    assert (await frame(socket))["type"] == "delta"
    channel.leave(socket)


@pytest.mark.asyncio
async def test_a_browser_that_comes_back_misses_nothing(the_hub: Hub, cluster: SmallCluster) -> None:
    """R33: since=seq replays what was missed."""
    channel, watcher, hello = await join(the_hub)
    start, epoch = hello["seq"], hello["epoch"]
    for number in range(5):
        fail(cluster, number)
        await frame(watcher)
    _, back, greeting = await join(the_hub, start + 2, epoch)
    missed = [await frame(back) for _ in range(3)]
    assert greeting["seq"] == start + 5
    assert [delta["from"] for delta in missed] == [start + 2, start + 3, start + 4]
    _, current, _ = await join(the_hub, start + 5, epoch)
    fail(cluster, 5)
    assert (await frame(current))["from"] == start + 5
    for socket in (watcher, back, current):
        channel.leave(socket)


@pytest.mark.asyncio
@pytest.mark.parametrize("known", ["too old", "of another layout", "ahead of the log"])
async def test_a_position_that_cannot_be_gone_on_from_is_told_so(the_hub: Hub, cluster: SmallCluster, known: str) -> None:
    """R33: too old means fetch a snapshot, said explicitly."""
    channel, watcher, hello = await join(the_hub)
    since, epoch = {
        "too old": (1, hello["epoch"]),
        "of another layout": (hello["seq"], "other"),
        "ahead of the log": (10**9, hello["epoch"]),
    }[known]
    _, socket, _ = await join(the_hub, since, epoch)
    assert (await frame(socket))["type"] == "resync"
    channel.leave(watcher)
    channel.leave(socket)


@pytest.mark.asyncio
async def test_the_ring_is_bounded(the_hub: Hub, cluster: SmallCluster) -> None:
    channel, socket, hello = await join(the_hub)
    for number in range(RING_FRAMES + 1):
        fail(cluster, number)
        await channel.refresh()
    _, old, _ = await join(the_hub, hello["seq"], hello["epoch"])
    _, young, _ = await join(the_hub, hello["seq"] + 1, hello["epoch"])
    assert (await frame(old))["type"] == "resync"
    assert (await frame(young))["from"] == hello["seq"] + 1
    for each in (socket, old, young):
        channel.leave(each)


@pytest.mark.asyncio
async def test_a_changed_inventory_makes_everybody_fetch_a_snapshot(the_hub: Hub, cluster: SmallCluster) -> None:
    channel, socket, hello = await join(the_hub)
    cluster.add(NodeRemoved(node="r2-n2", reason="returned"))
    assert (await frame(socket))["type"] == "resync"
    fail(cluster, 0)
    delta = await frame(socket)
    assert delta["epoch"] != hello["epoch"]
    _, back, _ = await join(the_hub, hello["seq"], hello["epoch"])
    assert (await frame(back))["type"] == "resync"
    channel.leave(socket)
    channel.leave(back)


@pytest.mark.asyncio
async def test_more_changes_than_a_frame_is_worth_become_a_resync(
    the_hub: Hub, cluster: SmallCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "MOST_NODES", 2)
    channel, socket, hello = await join(the_hub)
    head = cluster.add(*(NodeFailed(node=f"r1-n{number}", reason="fatal") for number in (1, 2, 3)))
    assert (await frame(socket))["type"] == "resync"
    cluster.add(RepairFinished(node="r1-n1"))
    assert (await frame(socket))["from"] == head
    _, back, _ = await join(the_hub, hello["seq"], hello["epoch"])
    assert (await frame(back))["type"] == "resync"
    channel.leave(socket)
    channel.leave(back)


@pytest.mark.asyncio
async def test_a_socket_that_falls_behind_loses_its_queue_and_is_told(the_hub: Hub, cluster: SmallCluster) -> None:
    """R34: what waits for a socket is bounded."""
    channel, socket, _ = await join(the_hub)
    for number in range(QUEUE_FRAMES + 1):
        fail(cluster, number)
        await channel.refresh()
    assert (await frame(socket))["type"] == "resync"
    after = fail(cluster, 1)
    assert (await frame(socket))["to"] == after
    channel.leave(socket)


@pytest.mark.asyncio
async def test_nothing_is_read_while_nobody_watches(the_hub: Hub, cluster: SmallCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    channel, socket, _ = await join(the_hub)
    channel.leave(socket)
    looks: list[str] = []
    monkeypatch.setattr(cluster.log, "position", lambda name: looks.append(name))
    fail(cluster, 0)
    await asyncio.sleep(3 * hub.POLL)
    assert looks == []


@pytest.mark.asyncio
async def test_a_cluster_is_noted_as_watched_for_as_long_as_it_is(
    the_hub: Hub, cluster: SmallCluster, noted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "PRESENCE", 0.0)
    channel, socket, _ = await join(the_hub)
    async with asyncio.timeout(PATIENCE):
        while len(noted) < 2:
            await asyncio.sleep(0.01)
    channel.leave(socket)
    await asyncio.sleep(0)
    noted.clear()
    await asyncio.sleep(3 * hub.POLL)
    assert noted == []


@pytest.mark.asyncio
async def test_a_log_that_cannot_be_read_is_tried_again(the_hub: Hub, cluster: SmallCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "RETRY", 0.01)
    channel, socket, _ = await join(the_hub)
    position, failures = cluster.log.position, iter([DatabaseError("gone away"), DatabaseError("gone away")])

    def flaky(name: str) -> object:
        for failure in failures:
            raise failure
        return position(name)

    monkeypatch.setattr(cluster.log, "position", flaky)
    fail(cluster, 0)
    assert (await frame(socket))["type"] == "delta"
    channel.leave(socket)


@pytest.mark.asyncio
async def test_a_cluster_that_is_removed_closes_its_sockets(the_hub: Hub, cluster: SmallCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    channel, socket, _ = await join(the_hub)

    def gone(name: str) -> object:
        raise UnknownCluster(name)

    monkeypatch.setattr(cluster.log, "position", gone)
    async with asyncio.timeout(PATIENCE):
        assert await socket.next() is None
    assert socket.closing == hub.GONE
    channel.leave(socket)


def test_a_socket_is_overdue_when_it_is_silent_or_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """R34, R35."""
    timing = Timing()
    now = [1000.0]
    monkeypatch.setattr("frontend.live.subscriber.time.monotonic", lambda: now[0])
    socket = Subscriber()
    now[0] += timing.silence
    assert not socket.overdue(timing)
    now[0] += 1
    assert socket.overdue(timing)
    socket.heard_at = now[0]
    socket.sending_since = now[0] - timing.stuck
    assert not socket.overdue(timing)
    socket.sending_since -= 1
    assert socket.overdue(timing)
