"""`manage.py run_fleets`: the background of an installation whose parts run apart."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from config.database import keep_connections
from tasks.runners import start_background


class Command(BaseCommand):
    """Follows the logs and drives the simulated fleets until it is told to stop. Several may run: each fleet has one driver."""

    help = "Follow the logs, wake the workers, and drive the simulated fleets (where `serve` does not)."

    def handle(self, *_args: Any, **_options: Any) -> None:
        keep_connections()
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        threads = start_background(stop)
        self.stdout.write("following the logs and driving the fleets; Ctrl-C stops it")
        for thread in threads:
            thread.join()
