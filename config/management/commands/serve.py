"""`manage.py serve`: the whole product in one process."""

from __future__ import annotations

import fcntl
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from config import embedded
from config.celery import app
from config.env import DATA_DIR, Environment
from frontend.accounts.links import address_file, first_run_link
from tasks.runners import start_background

#: Ending of the file beside a SQLite database that the server which runs on it has locked.
LOCK = ".lock"


def _listen(environment: Environment) -> socket.socket:
    try:
        return embedded.listen(environment.bind, environment.port)
    except OSError as error:
        raise CommandError(
            f"Cannot listen on {environment.bind} port {environment.port}: {error.strerror}. "
            "Stop what uses it, or choose another with PORT=8001."
        ) from error


@contextmanager
def _alone() -> Iterator[None]:
    """Two servers on one SQLite database would keep each other waiting, and each drive the fleets. The lock goes with its process."""
    if connection.vendor != "sqlite":
        yield
        return
    database = str(connection.settings_dict["NAME"])
    with Path(f"{database}{LOCK}").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandError(
                f"Another server runs on {database!r} already. Stop it, or give this one a directory of its own with {DATA_DIR}."
            ) from None
        yield


class Command(BaseCommand):
    """Migrates, then serves pages, runs tasks and drives connectors until it is told to stop."""

    help = "Serve pages, run tasks and drive connectors in one process (SQLite or PostgreSQL, no Redis)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check-port", action="store_true", help="only say whether a server could start here")

    def handle(self, *_args: Any, **options: Any) -> None:
        environment: Environment = settings.ENVIRONMENT
        if not environment.embedded:
            raise CommandError(
                "SLICEKEEPER_REDIS_URL is set, so the parts run apart. Start each of: "
                "`uvicorn config.asgi:application`, `celery -A config.celery worker -Q pass,slow` and "
                "`celery -A config.celery beat`; or unset it to run everything here."
            )
        with _listen(environment) as listener, _alone():
            if options["check_port"]:
                return
            self.say("database: bringing the tables up to date")
            call_command("migrate", interactive=False, verbosity=0)
            self.serve(listener, environment)
        self.say("stopped")

    def serve(self, listener: socket.socket, environment: Environment) -> None:
        with embedded.background(app, start_background):
            self.say("started: web server, task worker, background runners; Ctrl-C stops them")
            address_file().write_text(environment.public_url)
            self.say(f"open {first_run_link(environment.public_url)}")
            embedded.serve(listener)
            self.say("stopping")

    def say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
