"""`manage.py serve`: the whole product in one process."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from config import embedded
from config.celery import app
from config.env import LOOPBACK_HOSTS, Environment
from frontend.accounts.links import first_run_link
from tasks.runners import start_background

EVERYWHERE = {"0.0.0.0", "::"}


def public_url(environment: Environment) -> str:
    """Return the address that people on this machine type to reach the pages."""
    if environment.https:
        names = [host for host in environment.allowed_hosts if host not in LOOPBACK_HOSTS]
        return f"https://{names[0] if names else 'localhost'}"
    host = "localhost" if environment.bind in EVERYWHERE else environment.bind
    return f"http://{f'[{host}]' if ':' in host else host}:{environment.port}"


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
        url = public_url(environment)
        try:
            listener = embedded.listen(environment.bind, environment.port)
        except OSError as error:
            raise CommandError(
                f"Cannot listen on {environment.bind} port {environment.port}: {error.strerror}. "
                "Stop what uses it, or choose another with PORT=8001."
            ) from error
        with listener, embedded.background(app, start_background):
            self.say("started: web server, task worker, background runners; Ctrl-C stops them")
            self.say(f"open {first_run_link(url)}")
            embedded.serve(listener)
            self.say("stopping")
        self.say("stopped")

    def say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
