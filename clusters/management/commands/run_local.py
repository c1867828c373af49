"""`manage.py run_local`: runs the nodes of a local cluster, and the work that is placed on them, until it is told to stop."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import socket
import threading
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, close_old_connections

from clusters.connectors.lease import Lease
from clusters.connectors.local.driver import LocalDriver
from clusters.connectors.local.program import CHECK_SECONDS, Program
from clusters.domain.errors import ClusterError
from clusters.domain.state import LOCAL
from clusters.eventlog.store import default_log
from clusters.management.telling import in_words

logger = logging.getLogger(__name__)

#: Seconds between tries to get the lease, and after trouble.
RETRY_SECONDS = 0.5


class Command(BaseCommand):
    """One process for each node, and one for each of a job's slots. Whoever submits jobs does not say what runs: this command line does."""

    help = "Run the nodes of a local cluster. Every job runs the given program on each of its nodes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--cluster", required=True)
        parser.add_argument("--logs", type=Path, help="directory for what the program prints; default: local/ in the data directory")
        parser.add_argument("--blame-nodes", action="store_true", help="an end with an error is a failure of the node, not of the job")
        parser.add_argument("--check", default="", help="command that finds out whether a repaired node works: it ends with code 0 there")
        parser.add_argument("--check-seconds", type=float, default=CHECK_SECONDS, help="how long that may take")
        parser.add_argument("program", nargs="+", help="the program and its arguments; write -- before it")

    def handle(self, *_args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        cluster = options["cluster"]
        logs: Path = options["logs"] or Path(settings.DATA_DIR) / "local"
        logs.mkdir(parents=True, exist_ok=True)
        env = {name: value for name, value in os.environ.items() if name not in _SECRETS}
        program = Program(
            argv=tuple(options["program"]),
            directory=logs,
            env={**env, "SLICEKEEPER_CLUSTER": cluster},
            blames_nodes=options["blame_nodes"],
            check=tuple(shlex.split(options["check"])),
            check_seconds=options["check_seconds"],
        )
        lease = Lease(cluster, f"{socket.gethostname()[:60]}:{os.getpid()}:{uuid4().hex[:8]}")
        try:
            self._check(cluster)
            while not lease.acquire():
                if stop.wait(RETRY_SECONDS):
                    return
            self._run(cluster, program, lease, stop)
        except ClusterError as error:
            raise CommandError(in_words(error)) from error

    def _check(self, cluster: str) -> None:
        with default_log().live(cluster).reading() as state:
            if state.connector != LOCAL:
                raise CommandError(f"cluster {cluster!r} has other nodes than local ones (connector {state.connector!r}); see create_local")

    def _run(self, cluster: str, program: Program, lease: Lease, stop: threading.Event) -> None:
        driver = LocalDriver(default_log(), cluster, program, lease.check)
        self.stdout.write(f"running the nodes of {cluster}; what their work prints is in {program.directory}; Ctrl-C ends them all")
        self.stdout.flush()
        try:
            while not stop.is_set():
                try:
                    driver.turn()
                    lease.keep(0)
                except DatabaseError as error:  # work goes on meanwhile; what happens to it is told later
                    logger.error("the log cannot be followed (%s); trying again", error)  # noqa: TRY400
                    close_old_connections()
                    driver.fleet.pump(RETRY_SECONDS)
        finally:
            driver.close()
            lease.release()


#: What the work of jobs has no need to know.
_SECRETS = frozenset({"SLICEKEEPER_SECRET_KEY", "SLICEKEEPER_DATABASE_URL", "SLICEKEEPER_REDIS_URL"})
