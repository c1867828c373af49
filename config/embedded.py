"""Everything in one process: web server, Celery worker, beat and the background runners.

The main thread serves ASGI; the others stop when it does. Whatever stands in the log goes on after a restart, so a
stop only has to be quick: each part is told first, then waited for, at most SHUTDOWN_SECONDS together.
"""

from __future__ import annotations

import logging
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import uvicorn
from celery import Celery
from celery.beat import Scheduler, Service
from celery.worker import WorkController
from celery.worker import state as worker_state

logger = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 5.0
DRAIN_SECONDS = 1  # of these, what open requests and sockets get
BEAT_LOOK_SECONDS = 1  # how often the beat looks whether it is to stop

Runners = Callable[[threading.Event], list[threading.Thread]]


class Worker:
    """A real Celery worker of one thread in this process, and the beat that sends it the sweep."""

    def __init__(self, app: Celery) -> None:
        app.finalize()
        self._app = app
        self._controller = WorkController(
            app=app, pool="solo", concurrency=1, without_heartbeat=True, without_mingle=True, without_gossip=True
        )
        self._thread = threading.Thread(target=self._work, name="worker", daemon=True)
        self._beat = Service(app, max_interval=BEAT_LOOK_SECONDS, scheduler_cls=Scheduler)

    def start(self) -> None:
        worker_state.should_stop = None
        self._thread.start()
        threading.Thread(target=self._beat.start, name="beat", daemon=True).start()

    def _work(self) -> None:
        self._app.set_current()  # Celery keeps the current application per thread
        self._controller.start()

    def stop(self) -> None:
        """Tell both to stop; the worker ends the task it runs first."""
        # What the worker's own signal handler sets, an exit code; the stubs know only the initial value.
        worker_state.should_stop = 0  # type: ignore[assignment]
        self._beat.stop()

    def join(self, timeout: float) -> bool:
        """Wait for the worker and say whether it ended; the beat holds nothing and may die with the process."""
        self._thread.join(timeout)
        return not self._thread.is_alive()


@contextmanager
def background(app: Celery, start_runners: Runners) -> Iterator[None]:
    """Run the worker and the background runners around a body."""
    stop = threading.Event()
    worker = Worker(app)
    worker.start()
    runners: list[threading.Thread] = []
    try:
        runners = start_runners(stop)
        yield
    finally:
        deadline = time.monotonic() + SHUTDOWN_SECONDS - DRAIN_SECONDS
        stop.set()
        worker.stop()
        late = [] if worker.join(deadline - time.monotonic()) else ["worker"]
        for thread in runners:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                late.append(thread.name)
        if late:
            logger.warning("left behind at shutdown, still busy: %s", ", ".join(late))


def listen(host: str, port: int) -> socket.socket:
    """Open the port. From here on browsers wait instead of being refused; a port that is taken is an OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=1024)


def serve(listener: socket.socket) -> None:
    """Serve ASGI until SIGINT or SIGTERM."""
    config = uvicorn.Config(
        "config.asgi:application",
        lifespan="off",
        log_config=None,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        server_header=False,
        ws_per_message_deflate=False,  # a frame is made once for all sockets; packing it for each cost more time than it saved bytes
    )
    # uvicorn raises the signal again after its clean stop, when these have nothing left to do.
    previous = {number: signal.signal(number, _done) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _done(_signal: int, _frame: FrameType | None) -> None:
    """Let the process end by itself."""
