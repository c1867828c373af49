"""Following the log by requests that wait, through the whole ASGI stack."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.db import OperationalError

from clusters.domain.health_events import NodeFailed, NodeRecovered
from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.store import default_log
from frontend.accounts.models import ApiToken
from frontend.accounts.roles import Role
from frontend.accounts.tokens import token_create
from frontend.live import follow, hub
from tests.integration.live.small import NAME, SmallCluster
from tests.support.patience import PATIENCE
from tests.support.people import make_user

pytestmark = pytest.mark.django_db(transaction=True)

FAILED = NodeFailed(node="r1-n1", reason="fatal")
RECOVERED = NodeRecovered(node="r1-n1", reason="well")

#: Seconds after which a test gives up; nothing is asserted of how long things take.


@pytest.fixture
def cluster(db: None) -> SmallCluster:
    return SmallCluster(log=default_log())


@pytest.fixture
def token(db: None) -> str:
    return token_create(user=make_user("ada", Role.VIEWER), label="x", role=Role.VIEWER)[1]


@pytest_asyncio.fixture(autouse=True)
async def closed_hub() -> AsyncIterator[None]:
    yield
    if hub._hub is not None:
        await hub._hub.close()
        hub._hub = None


class Caller:
    """One request for events, on its way."""

    def __init__(self, token: str, query: str, path: str = f"/api/v1/clusters/{NAME}/events/") -> None:
        from config.asgi import application

        self.scope: dict[str, Any] = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http", "path": path,
            "raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "client": ("192.0.2.1", 4711),
            "server": ("testserver", 80), "headers": [(b"host", b"testserver"), (b"authorization", f"Bearer {token}".encode())],
        }  # fmt: skip
        self.inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.inbox.put_nowait({"type": "http.request", "body": b"", "more_body": False})
        self.sent: list[dict[str, Any]] = []
        app: Any = application
        self.task = asyncio.create_task(app(self.scope, self.inbox.get, self._take))

    async def _take(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    async def answer(self) -> tuple[int, Any]:
        """Status and body, once they come."""
        async with asyncio.timeout(PATIENCE):
            await self.task
        body = b"".join(message.get("body", b"") for message in self.sent[1:])
        return self.sent[0]["status"], json.loads(body)

    async def leave(self) -> None:
        self.inbox.put_nowait({"type": "http.disconnect"})
        async with asyncio.timeout(PATIENCE):
            await self.task


async def waiting(cluster: SmallCluster, many: int = 1) -> None:
    """Return once so many requests wait."""
    async with asyncio.timeout(PATIENCE):
        while hub._hub is None or len(hub.the_hub().head(NAME)._waiting) < many:
            await asyncio.sleep(0.01)


@sync_to_async
def add(cluster: SmallCluster, *payloads: Any) -> int:
    return cluster.add(*payloads)


@pytest.mark.asyncio
async def test_what_is_there_is_told_at_once(cluster: SmallCluster, token: str) -> None:
    status, page = await Caller(token, "after=0&limit=2&wait=60").answer()
    assert (status, [event["seq"] for event in page["items"]], page["next"]) == (200, [1, 2], 2)


@pytest.mark.asyncio
async def test_a_caller_waits_for_the_next_event(cluster: SmallCluster, token: str) -> None:
    head = await add(cluster, FAILED)
    caller = Caller(token, f"after={head}&wait=60")
    await waiting(cluster)
    assert caller.sent == []
    await add(cluster, RECOVERED)
    status, page = await caller.answer()
    assert (status, [event["kind"] for event in page["items"]], page["next"]) == (200, ["NodeRecovered"], head + 1)


@pytest.mark.asyncio
async def test_what_other_processes_write_is_heard_too(cluster: SmallCluster, token: str) -> None:
    head = await add(cluster, FAILED)
    caller = Caller(token, f"after={head}&wait=60")
    await waiting(cluster)
    other = DatabaseLog()  # tells nobody here
    await sync_to_async(other.append_facts)(NAME, [cluster.fact(RECOVERED)])
    assert [event["seq"] for event in (await caller.answer())[1]["items"]] == [head + 1]


@pytest.mark.asyncio
async def test_who_waits_for_nothing_is_told_so_in_the_end(cluster: SmallCluster, token: str) -> None:
    head = await add(cluster, FAILED)
    status, page = await Caller(token, f"after={head}&wait=1").answer()
    assert (status, page["items"], page["next"], page["head"]) == (200, [], head, head)
    assert not hub.the_hub().head(NAME)._waiting


@pytest.mark.asyncio
async def test_filters_hold_while_waiting_and_the_position_goes_on(cluster: SmallCluster, token: str) -> None:
    head = await add(cluster, FAILED)
    caller = Caller(token, f"after={head}&wait=60&kind=NodeFailed")
    await waiting(cluster)
    await add(cluster, RECOVERED)
    async with asyncio.timeout(PATIENCE):
        while [*hub.the_hub().head(NAME)._waiting.values()] != [head + 1]:
            await asyncio.sleep(0.01)
    assert caller.sent == []
    await add(cluster, FAILED)
    page = (await caller.answer())[1]
    assert [event["seq"] for event in page["items"]] == [head + 2]


@pytest.mark.asyncio
async def test_callers_who_wait_hold_no_threads(cluster: SmallCluster, token: str) -> None:
    head = await add(cluster, FAILED)
    before = threading.active_count()
    callers = [Caller(token, f"after={head}&wait=60") for _ in range(40)]
    await waiting(cluster, 40)
    assert threading.active_count() <= before + 4  # of the hub, and of what has just been asked
    await add(cluster, RECOVERED)
    assert [len((await caller.answer())[1]["items"]) for caller in callers] == [1] * 40


@pytest.mark.asyncio
async def test_who_leaves_no_longer_waits(cluster: SmallCluster, token: str) -> None:
    head = await add(cluster, FAILED)
    caller, other = Caller(token, f"after={head}&wait=60"), Caller(token, f"after={head}&wait=60")
    await waiting(cluster, 2)
    await caller.leave()
    assert caller.sent == []
    assert len(hub.the_hub().head(NAME)._waiting) == 1
    await add(cluster, RECOVERED)
    assert (await other.answer())[0] == 200


@pytest.mark.asyncio
async def test_a_token_that_ends_meanwhile_is_told_nothing(cluster: SmallCluster, token: str) -> None:
    head = await add(cluster, FAILED)
    caller = Caller(token, f"after={head}&wait=60")
    await waiting(cluster)
    await sync_to_async(ApiToken.objects.all().delete)()
    await add(cluster, RECOVERED)
    status, problem = await caller.answer()
    assert (status, problem["code"]) == (401, "bad-token")


@pytest.mark.asyncio
async def test_a_log_that_cannot_be_read_ends_the_waiting(cluster: SmallCluster, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    head = await add(cluster, FAILED)
    caller = Caller(token, f"after={head}&wait=60")
    await waiting(cluster)

    def gone(_: Any, _cluster: str) -> int:
        raise OperationalError("the database is gone")

    monkeypatch.setattr(DatabaseLog, "head", gone)
    status, problem = await caller.answer()
    assert (status, problem["code"]) == (503, "unavailable")


@pytest.mark.asyncio
async def test_a_server_that_stops_answers_those_who_wait(cluster: SmallCluster, token: str) -> None:
    head = await add(cluster, FAILED)
    caller = Caller(token, f"after={head}&wait=60")
    await waiting(cluster)
    caller.task.cancel()
    status, page = await caller.answer()
    assert (status, page["items"], page["next"]) == (200, [], head)


@pytest.mark.asyncio
async def test_where_too_many_wait_the_answer_comes_early(cluster: SmallCluster, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "MOST_WAITING", 0)
    head = await add(cluster, FAILED)
    assert (await Caller(token, f"after={head}&wait=60").answer())[1]["items"] == []


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("query", "path", "status"),
    [
        ("wait=61", f"/api/v1/clusters/{NAME}/events/", 422),
        ("wait=x", f"/api/v1/clusters/{NAME}/events/", 422),
        ("wait=5", "/api/v1/clusters/other/events/", 404),
        ("wait=5", f"/api/v1/clusters/{NAME}/racks/", 422),
    ],
)
async def test_what_makes_no_sense_is_refused_at_once(cluster: SmallCluster, token: str, query: str, path: str, status: int) -> None:
    assert (await Caller(token, query, path).answer())[0] == status
    assert (await Caller("sk_nothing", query, path).answer())[0] == 401
