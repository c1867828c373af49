"""The live socket through the whole ASGI stack: who gets in, what goes over it, and when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from clusters.domain.health_events import NodeFailed
from clusters.eventlog.store import create_cluster, default_log
from frontend.accounts.roles import Role
from frontend.accounts.tokens import token_create, token_revoke
from frontend.live import endpoint, hub
from frontend.live.frames import PING
from frontend.live.subscriber import Timing
from tests.integration.live.small import NAME, SmallCluster
from tests.integration.live.sockets import HOST, Socket
from tests.support.patience import PATIENCE
from tests.support.people import make_user

pytestmark = pytest.mark.django_db(transaction=True)

PATH = f"/ws/clusters/{NAME}/"


@pytest.fixture
def cluster(db: None) -> SmallCluster:
    return SmallCluster(log=default_log())


@pytest.fixture
def cookie(db: None) -> str:
    client = Client()
    client.force_login(make_user("ada", Role.VIEWER))
    return client.cookies[settings.SESSION_COOKIE_NAME].value


@pytest_asyncio.fixture(autouse=True)
async def closed_hub() -> AsyncIterator[None]:
    yield
    if hub._hub is not None:
        await hub._hub.close()
        hub._hub = None


@pytest.mark.asyncio
async def test_a_page_of_ours_is_greeted_and_follows(cluster: SmallCluster, cookie: str) -> None:
    async with Socket(PATH, cookie=cookie) as socket:
        assert await socket.opened()
        hello = await socket.frame()
        assert hello["type"] == "hello"
        await sync_to_async(cluster.add)(NodeFailed(node="r1-n1", reason="fatal"))
        delta = await socket.frame()
        assert (delta["type"], delta["from"], delta["to"]) == ("delta", hello["seq"], hello["seq"] + 1)


@pytest.mark.asyncio
@pytest.mark.parametrize("forged", ["", "forged:value:here"])
async def test_without_a_session_nobody_gets_in(cluster: SmallCluster, forged: str) -> None:
    async with Socket(PATH, cookie=forged) as socket:
        assert await socket.output() == {"type": "websocket.close", "code": endpoint.SIGNED_OUT, "reason": None}


ELSEWHERE = (
    None,
    "",
    "null",
    "https://evil.example",
    f"http://{HOST}:3000",
    f"http://{HOST}.evil.example",
    f"ftp://{HOST}",
    f"http://{HOST}@evil.example",
)


@pytest.mark.asyncio
@pytest.mark.parametrize("origin", ELSEWHERE)
async def test_a_page_of_another_origin_does_not_get_in(cluster: SmallCluster, cookie: str, origin: str | None) -> None:
    """R41: the Origin is checked on the handshake, the port too."""
    async with Socket(PATH, cookie=cookie, origin=origin) as socket:
        assert not await socket.opened()


@pytest.mark.asyncio
async def test_a_default_port_may_be_said_or_not(cluster: SmallCluster, cookie: str) -> None:
    async with Socket(PATH, cookie=cookie, host=f"{HOST}:80") as socket:
        assert await socket.opened()


@pytest.mark.asyncio
@pytest.mark.parametrize(("scheme", "opened"), [("ws", False), ("wss", True)])
async def test_where_pages_need_https_sockets_need_wss(
    cluster: SmallCluster, cookie: str, settings: Any, scheme: str, opened: bool
) -> None:
    """R41."""
    settings.SECURE_SSL_REDIRECT = True
    async with Socket(PATH, cookie=cookie, scheme=scheme) as socket:
        assert await socket.opened() is opened


@pytest.mark.asyncio
@pytest.mark.parametrize("path", ["/ws/clusters/other/", "/ws/", "/anything", "/ws/clusters/%00/"])
async def test_an_unknown_cluster_or_path_is_refused(cluster: SmallCluster, cookie: str, path: str) -> None:
    async with Socket(path, cookie=cookie) as socket:
        assert await socket.output() == {"type": "websocket.close", "code": hub.GONE, "reason": None}


@pytest.mark.asyncio
@pytest.mark.parametrize("query", ["since=x", "since=-1", "since=%C2%B2", f"since={'9' * 400}", "since=1&epoch=%FF%00", "since=&epoch="])
async def test_a_position_that_makes_no_sense_does_no_harm(cluster: SmallCluster, cookie: str, query: str) -> None:
    async with Socket(f"{PATH}?{query}", cookie=cookie) as socket:
        assert await socket.opened()
        assert (await socket.frame())["type"] == "hello"


@pytest.mark.asyncio
async def test_the_socket_of_a_user_who_was_deactivated_is_closed(
    cluster: SmallCluster, cookie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R43: the right to watch is looked at again."""
    monkeypatch.setattr(endpoint, "TIMING", Timing(look=0.01, recheck=0.02))
    async with Socket(PATH, cookie=cookie) as socket:
        assert await socket.opened()
        await socket.frame()
        await asyncio.sleep(0.1)
        assert socket.outbox.empty()
        await sync_to_async(User.objects.update)(is_active=False)
        assert await socket.output() == {"type": "websocket.close", "code": endpoint.SIGNED_OUT, "reason": None}


@pytest.mark.asyncio
@pytest.mark.parametrize("by", ["session", "token"])
async def test_the_socket_of_a_user_whose_role_was_taken_is_closed(
    cluster: SmallCluster, cookie: str, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """R43."""
    monkeypatch.setattr(endpoint, "TIMING", Timing(look=0.01, recheck=0.02))
    ada = await User.objects.aget()
    _, secret = await sync_to_async(token_create)(user=ada, label="x", role=Role.VIEWER)
    async with Socket(PATH, cookie=cookie if by == "session" else "", authorization=f"Bearer {secret}" if by == "token" else "") as socket:
        assert await socket.opened()
        await socket.frame()
        await ada.groups.aclear()
        assert await socket.output() == {"type": "websocket.close", "code": endpoint.SIGNED_OUT, "reason": None}


@pytest.mark.asyncio
async def test_the_socket_of_a_token_that_was_revoked_is_closed(
    cluster: SmallCluster, cookie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R43."""
    monkeypatch.setattr(endpoint, "TIMING", Timing(look=0.01, recheck=0.02))
    row, secret = await sync_to_async(token_create)(user=await User.objects.aget(), label="x", role=Role.VIEWER, cluster=NAME)
    async with Socket(PATH, authorization=f"Bearer {secret}") as socket:
        assert await socket.opened()
        await socket.frame()
        await sync_to_async(token_revoke)(row)
        assert (await socket.output())["code"] == endpoint.SIGNED_OUT


@pytest.mark.asyncio
async def test_a_token_of_another_cluster_does_not_get_in(cluster: SmallCluster, cookie: str) -> None:
    await sync_to_async(create_cluster)("other", by="test")
    _, secret = await sync_to_async(token_create)(user=await User.objects.aget(), label="x", role=Role.VIEWER, cluster="other")
    async with Socket(PATH, authorization=f"Bearer {secret}") as socket:
        assert not await socket.opened()


@pytest.mark.asyncio
async def test_a_silent_browser_is_closed_and_one_that_answers_is_not(
    cluster: SmallCluster, cookie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R35: half-open sockets do not stay."""
    monkeypatch.setattr(endpoint, "TIMING", Timing(look=0.01, ping=0.03, silence=0.5))
    async with Socket(PATH, cookie=cookie) as alive, Socket(PATH, cookie=cookie) as silent:
        pings = 0
        while (message := await silent.output())["type"] != "websocket.close":
            pings += message.get("text") == PING
            alive.say('{"type":"pong"}')
        assert pings >= 2
        assert message["code"] == endpoint.SILENT
        assert not alive.task.done()


@pytest.mark.asyncio
async def test_a_browser_that_does_not_read_is_let_go(cluster: SmallCluster, cookie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """R34: a stuck client is closed; sending to it never ends, so no goodbye is tried."""
    monkeypatch.setattr(endpoint, "TIMING", Timing(look=0.01, stuck=0.05))
    async with Socket(PATH, cookie=cookie) as socket:
        assert await socket.opened()
        await socket.frame()
        socket.reads.clear()
        await sync_to_async(cluster.add)(NodeFailed(node="r1-n1", reason="fatal"))
        async with asyncio.timeout(PATIENCE):
            await socket.task
        assert socket.outbox.empty()
    assert not hub.the_hub()._channels[NAME]._sockets


@pytest.mark.asyncio
async def test_a_browser_that_talks_too_much_is_closed(cluster: SmallCluster, cookie: str) -> None:
    async with Socket(PATH, cookie=cookie) as socket:
        assert await socket.opened()
        await socket.frame()
        socket.say("x" * 2000)
        assert (await socket.output())["code"] == endpoint.TOO_BIG
