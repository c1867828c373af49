"""The parts of the single process: a real worker on a thread, runners, the port."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery

from config import embedded, env
from config.celery import app as project_app
from config.celery import make_app
from tests.support.patience import PATIENCE


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Celery]:
    """An application of its own, without the project's tasks and schedule."""
    app = make_app(env.read({}, tmp_path))
    app.conf.imports = ()
    app.conf.beat_schedule = {}
    yield app
    app.close()
    project_app.set_current()


def no_runners(_stop: threading.Event) -> list[threading.Thread]:
    return []


def test_a_task_sent_runs_on_the_worker_thread(app: Celery) -> None:
    ran = threading.Event()
    names: list[str] = []

    @app.task(name="tasks.passes.note", shared=False)
    def note(name: str) -> None:
        names.extend((name, threading.current_thread().name))
        ran.set()

    with embedded.background(app, no_runners):
        note.delay("c1")
        assert ran.wait(PATIENCE)
    assert names == ["c1", "worker"]


def test_a_task_that_fails_does_not_stop_the_worker(app: Celery) -> None:
    ran = threading.Event()

    @app.task(name="tasks.passes.fail", shared=False)
    def fail() -> None:
        raise ValueError("broken")

    @app.task(name="tasks.passes.note", shared=False)
    def note() -> None:
        ran.set()

    with embedded.background(app, no_runners):
        fail.delay()
        note.delay()
        assert ran.wait(PATIENCE)


def test_a_task_reaches_its_own_queue_and_runs_once(app: Celery) -> None:
    ran: list[str] = []
    last = threading.Event()

    @app.task(name="tasks.other.note", shared=False)
    def slow(name: str) -> None:
        ran.append(name)

    @app.task(name="tasks.passes.note", shared=False)
    def quick(name: str) -> None:
        ran.append(name)

    @app.task(name="tasks.other.end", shared=False)
    def end() -> None:
        last.set()

    with embedded.background(app, no_runners):
        slow.delay("slow")
        quick.delay("pass")
        end.delay()
        assert last.wait(PATIENCE)
    assert sorted(ran) == ["pass", "slow"]


def test_the_beat_sends_what_is_scheduled(app: Celery) -> None:
    ran = threading.Event()

    @app.task(name="tasks.passes.tick", shared=False)
    def tick() -> None:
        ran.set()

    app.conf.beat_schedule = {"tick": {"task": tick.name, "schedule": 0.1}}
    with embedded.background(app, no_runners):
        assert ran.wait(PATIENCE)


def test_runners_are_told_to_stop_and_waited_for(app: Celery) -> None:
    def run(stop: threading.Event) -> list[threading.Thread]:
        thread = threading.Thread(target=stop.wait, args=(60,))
        thread.start()
        threads.append(thread)
        return [thread]

    threads: list[threading.Thread] = []
    with embedded.background(app, run):
        assert threads[0].is_alive()
    assert not threads[0].is_alive()
    assert not [thread for thread in threading.enumerate() if thread.name == "worker"]


def test_the_worker_stops_when_the_runners_cannot_start(app: Celery) -> None:
    def broken(_stop: threading.Event) -> list[threading.Thread]:
        raise RuntimeError("no log to tail")

    with pytest.raises(RuntimeError, match="no log"), embedded.background(app, broken):
        pytest.fail("the body must not run")
    assert not [thread for thread in threading.enumerate() if thread.name == "worker"]


def test_a_port_that_is_taken_is_an_error_before_anything_starts() -> None:
    with embedded.listen("127.0.0.1", 0) as taken, pytest.raises(OSError, match="in use"):
        embedded.listen("127.0.0.1", taken.getsockname()[1])


def test_the_open_port_accepts_before_the_server_runs() -> None:
    with embedded.listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname(), timeout=5):
        pass


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({}, "http://127.0.0.1:8000"),
        ({env.PORT: "9000"}, "http://127.0.0.1:9000"),
        ({env.BIND: "0.0.0.0"}, "http://localhost:8000"),
        ({env.BIND: "::1"}, "http://[::1]:8000"),
        ({env.HTTPS: "on", env.ALLOWED_HOSTS: "gpu.example.org"}, "https://gpu.example.org"),
    ],
)
def test_the_link_names_an_address_that_answers(environ: dict[str, str], url: str, tmp_path: Path) -> None:
    assert env.read(environ, tmp_path).public_url == url
