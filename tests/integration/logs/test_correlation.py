"""One id from the request over the log and the events to the tasks and what these decide."""

from __future__ import annotations

import logging
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from clusters.eventlog.correlation import correlated, correlation
from clusters.eventlog.store import default_log
from config import tracing
from frontend.accounts.roles import Role
from scheduling import services
from tasks import heartbeat, housekeeping, passes, waking
from tasks.tailing import Tail
from tests.api.calls import Api
from tests.support.lab import make_lab
from tests.support.people import make_user
from tests.support.world import ask

pytestmark = pytest.mark.django_db

NAME = "ticket-4711"
JOB = {"name": "work", "kind": "training", "nodes": 16}


@pytest.fixture
def lab() -> str:
    return make_lab()


@pytest.fixture
def api(client: Client) -> Api:
    client.force_login(make_user("ada", Role.ADMIN))
    return Api(client)


def test_the_id_of_the_caller_is_in_the_answer_and_in_the_event(lab: str, api: Api) -> None:
    answer = api.post(f"clusters/{lab}/jobs/", JOB, **{"x-request-id": NAME})
    assert (answer.status, answer.headers["X-Request-ID"]) == (201, NAME)
    (event,) = default_log().read(lab, default_log().head(lab) - 1)
    assert (event.kind, event.correlation) == ("JobSubmitted", NAME)


@pytest.mark.parametrize("given", ["", "x" * 65, "two words", "a\tb", "<b>"])
def test_an_id_that_is_not_sound_is_replaced(given: str, client: Client) -> None:
    names = {client.get("/login/", headers={"x-request-id": given})["X-Request-ID"] for _ in range(2)}
    assert len(names) == 2
    assert given not in names
    assert all(len(name) == 32 for name in names)


def test_errors_have_an_id_too(client: Client) -> None:
    assert client.get("/nothing/here", headers={"x-request-id": NAME})["X-Request-ID"] == NAME
    assert correlation() == ""


def test_a_change_leaves_a_line_with_its_route_and_none_of_what_was_sent(
    lab: str, api: Api, caplog: pytest.LogCaptureFixture, client: Client
) -> None:
    with caplog.at_level(logging.INFO, "slicekeeper.request"):
        api.post(f"clusters/{lab}/jobs/", {**JOB, "name": "hush"})
        client.get(f"/clusters/{lab}/")
        client.post("/login/?token=topsecret", {"token": "topsecret"})
    lines = [entry.getMessage() for entry in caplog.records if entry.name == "slicekeeper.request"]
    assert len(lines) == 2
    assert lines[0].startswith("POST api:jobs answered 201 in ")
    assert lines[0].endswith("to 'ada'")
    assert not any("hush" in line or "topsecret" in line for line in lines)


def test_the_tail_sends_the_wake_up_in_the_name_of_the_request_that_led_to_it(lab: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    waker = waking.Waker(lambda _: sent.append(correlation()))
    monkeypatch.setattr("tasks.tailing.waker", waker)
    monkeypatch.setattr(housekeeping.keep, "delay", lambda _: None)
    tail = Tail(threading.Event())
    tail.look()
    waker.begun(lab)
    with correlated(NAME):
        services.job_submit(cluster=lab, request=ask(16), by="ada")
    tail.look()
    assert sent == [NAME]


def run_as_worker(headers: dict[str, Any], work: Any) -> None:
    """What Celery does around a task that came with these headers."""
    task: Any = SimpleNamespace(request=SimpleNamespace(**headers))
    tracing.take_up(task_id="t1", task=task)
    try:
        work()
    finally:
        tracing.lay_down(task_id="t1")


def test_a_task_goes_on_under_the_id_and_what_it_decides_carries_it(lab: str) -> None:
    headers: dict[str, Any] = {}
    with correlated(NAME):
        tracing.send_along(headers=headers)
    services.job_submit(cluster=lab, request=ask(16), by="ada")
    run_as_worker(headers, lambda: passes.run_pass(lab))
    placed = [event for event in default_log().read(lab) if event.kind == "JobPlaced"]
    assert [event.correlation for event in placed] == [NAME]
    assert correlation() == ""


@pytest.mark.parametrize("header", [{}, {"correlation": None}, {"correlation": "two words"}, {"correlation": 7}])
def test_a_task_without_a_sound_id_has_none(header: dict[str, Any]) -> None:
    seen: list[str] = []
    with correlated("of the sender's thread"):
        run_as_worker(header, lambda: seen.append(correlation()))
    assert seen == [""]


def test_a_task_sent_outside_of_any_request_has_no_header() -> None:
    headers: dict[str, Any] = {}
    tracing.send_along(headers=headers)
    assert headers == {}


def test_the_pass_leaves_a_sign_of_life_for_each_cluster(lab: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "_noted", {})
    passes.run_pass(lab)
    assert heartbeat.of_pass(lab) in heartbeat.last_beats()
