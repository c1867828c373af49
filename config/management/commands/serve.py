"""`manage.py serve`: the whole product in one process."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from config import embedded
from config.celery import app
from config.env import Environment
from frontend.accounts.links import address_file, first_run_link
from tasks.runners import start_background


class Command(BaseCommand):
    """Migrates, then serves pages, runs tasks and drives connectors until it is told to stop."""

    help = "Serve pages, run tasks and drive connectors in one process (SQLite or PostgreSQL, no Redis)."

    def handle(self, *_args: Any, **_options: Any) -> None:
        environment: Environment = settings.ENVIRONMENT
        if not environment.embedded:
            raise CommandError(
                "SLICEKEEPER_REDIS_URL is set, so the parts run apart. Start each of: "
                "`uvicorn config.asgi:application`, `celery -A config.celery worker -Q pass,slow` and "
                "`celery -A config.celery beat`; or unset it to run everything here."
            )
        self.say("database: bringing the tables up to date")
        call_command("migrate", interactive=False, verbosity=0)
        try:
            listener = embedded.listen(environment.bind, environment.port)
        except OSError as error:
            raise CommandError(
                f"Cannot listen on {environment.bind} port {environment.port}: {error.strerror}. "
                "Stop what uses it, or choose another with PORT=8001."
            ) from error
        with listener, embedded.background(app, start_background):
            self.say("started: web server, task worker, background runners; Ctrl-C stops them")
            address_file().write_text(environment.public_url)
            self.say(f"open {first_run_link(environment.public_url)}")
            embedded.serve(listener)
            self.say("stopping")
        self.say("stopped")

    def say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
