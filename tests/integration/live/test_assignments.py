"""Waiting for a job's next assignment, through the whole ASGI stack."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async

from clusters.domain.commands import NodeVerb
from clusters.domain.jobs import JobKind, JobRequest
from frontend.accounts.roles import Role
from frontend.accounts.tokens import token_create
from frontend.live import follow, hub
from scheduling.services import job_cancel, job_submit, node_mark, run_pass
from tests.integration.live.sockets import Socket
from tests.integration.live.test_follow import Caller
from tests.support.lab import NAME, make_lab
from tests.support.patience import PATIENCE
from tests.support.people import make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def token(db: None) -> str:
    return token_create(user=make_user("ada", Role.VIEWER), label="x", role=Role.VIEWER)[1]


@pytest_asyncio.fixture(autouse=True)
async def closed_hub() -> AsyncIterator[None]:
    yield
    if hub._hub is not None:
        await hub._hub.close()
        hub._hub = None


@pytest.fixture
def job(db: None) -> str:
    """A job with two nodes."""
    make_lab()
    return submit(2)


def submit(nodes: int) -> str:
    made = job_submit(cluster=NAME, request=JobRequest(name="x", kind=JobKind.TRAINING, nodes=nodes), by="ada")
    assert isinstance(made, str)
    run_pass(NAME)
    return made


def ask(token: str, job: str, query: str) -> Caller:
    return Caller(token, query, f"/api/v1/clusters/{NAME}/jobs/{job}/assignment/")


async def waiting(many: int) -> None:
    """Return once so many workers wait."""
    async with asyncio.timeout(PATIENCE):
        while hub._hub is None or len(hub.the_hub().assignments(NAME)._waiting) < many:
            await asyncio.sleep(0.01)


@sync_to_async
def swap(node: str) -> None:
    node_mark(cluster=NAME, node=node, verb=NodeVerb.FAIL, by="ada")
    run_pass(NAME)


@pytest.mark.asyncio
async def test_who_knows_an_older_generation_is_told_at_once(job: str, token: str) -> None:
    status, told = await ask(token, job, "after=0&wait=60").answer()
    assert status == 200
    assert (told["generation"], told["over"], [slot["rank"] for slot in told["slots"]]) == (1, False, [0, 1])
    assert told["came"] == sorted(slot["node"] for slot in told["slots"])
    assert (told["stays"], told["left"]) == ([], [])


@pytest.mark.asyncio
async def test_a_swap_is_told_to_who_waits_with_who_is_new_and_who_stays(job: str, token: str) -> None:
    _, first = await ask(token, job, "").answer()
    old, other = (slot["node"] for slot in first["slots"])
    caller = ask(token, job, "after=1&wait=60")
    await waiting(1)
    await swap(old)
    _, told = await caller.answer()
    new = told["slots"][0]["node"]
    assert (told["generation"], told["stays"], told["came"], told["left"]) == (2, [other], [new], [old])
    assert [(slot["rank"], slot["new"]) for slot in told["slots"]] == [(0, True), (1, False)]
    _, all_of_it = await ask(token, job, "after=0").answer()
    assert sorted(all_of_it["came"]) == sorted((new, other))


@pytest.mark.asyncio
async def test_what_happens_to_other_jobs_is_no_news(job: str, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    caller = ask(token, job, "after=1&wait=60")
    await waiting(1)
    asked = follow.Following._ask
    again: list[Any] = []

    async def count(*args: Any) -> Any:
        again.append(args)
        return await asked(*args)

    monkeypatch.setattr(follow.Following, "_ask", count)
    await sync_to_async(submit)(2)
    await asyncio.sleep(0.3)
    assert not caller.task.done()
    assert not again
    await caller.leave()


@pytest.mark.asyncio
async def test_the_end_of_a_job_is_told_to_who_waits_and_to_who_comes_late(job: str, token: str) -> None:
    caller = ask(token, job, "after=1&wait=60")
    await waiting(1)
    await sync_to_async(job_cancel)(cluster=NAME, job=job, by="ada")
    await sync_to_async(run_pass)(NAME)
    for told in ((await caller.answer())[1], (await ask(token, job, "after=1&wait=60").answer())[1]):
        assert (told["over"], told["state"], told["slots"]) == (True, "cancelled", [])


@pytest.mark.asyncio
async def test_the_time_is_up_without_news(job: str, token: str) -> None:
    status, told = await ask(token, job, "after=1&wait=1").answer()
    assert (status, told["generation"]) == (200, 1)


@pytest.mark.asyncio
async def test_a_thousand_workers_wait_without_threads_and_all_hear_of_one_swap(job: str, token: str) -> None:
    _, first = await ask(token, job, "").answer()
    before = threading.active_count()
    callers = [ask(token, job, "after=1&wait=60") for _ in range(20)]
    others = [asyncio.create_task(hub.the_hub().assignments(NAME).beyond((job, 1))) for _ in range(980)]
    await waiting(1_000)
    assert threading.active_count() <= before + 1  # the hub's own
    await swap(first["slots"][0]["node"])
    for caller in callers:
        status, told = await caller.answer()
        assert (status, told["generation"]) == (200, 2)
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*others)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("job_id", "query", "status"), [("j999999", "wait=5", 404), ("j999999", "", 404), (None, "after=-1", 422), (None, "wait=61", 422)]
)
async def test_what_cannot_be_asked_is_said(job: str, token: str, job_id: str | None, query: str, status: int) -> None:
    assert (await ask(token, job_id or job, query).answer())[0] == status


# ---- by socket


def by_socket(token: str, query: str) -> Socket:
    return Socket(f"/ws/clusters/{NAME}/?{query}", authorization=f"Bearer {token}")


async def told(socket: Socket) -> dict[str, Any]:
    """The next frame but pings."""
    async with asyncio.timeout(PATIENCE):
        while (message := await socket.outbox.get())["type"] != "websocket.close":
            if message["type"] == "websocket.send" and '"ping"' not in message["text"]:
                plain: dict[str, Any] = json.loads(message["text"])
                return plain
    return {"closed": message["code"]}


@pytest.mark.asyncio
async def test_a_socket_of_a_job_is_told_its_assignment_each_change_of_it_and_its_end(job: str, token: str) -> None:
    async with by_socket(token, f"job={job}") as socket:
        first = await told(socket)
        assert (first["type"], first["generation"], first["over"]) == ("assignment", 1, False)
        old = first["slots"][0]["node"]
        await waiting(1)
        await swap(old)
        second = await told(socket)
        assert (second["generation"], second["left"]) == (2, [old])
        await sync_to_async(job_cancel)(cluster=NAME, job=job, by="ada")
        await sync_to_async(run_pass)(NAME)
        assert (await told(socket))["over"]
        assert await told(socket) == {"closed": 1000}


@pytest.mark.asyncio
@pytest.mark.parametrize("query", ["job=j999999", "job=x%00", "job=" + "9" * 500])
async def test_a_socket_of_a_job_that_nobody_knows_is_closed(job: str, token: str, query: str) -> None:
    async with by_socket(token, query) as socket:
        assert await told(socket) == {"closed": 4404}
