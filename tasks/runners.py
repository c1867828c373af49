"""The background of an installation: the tail of the logs, and the simulated fleets.

The embedded server runs it beside the web pages; with workers of their own, `manage.py run_fleets` does.
"""

from __future__ import annotations

import threading

from tasks.fleets import Fleets
from tasks.tailing import Tail


def start_background(stop: threading.Event) -> list[threading.Thread]:
    """Start what runs in the background until `stop` is set; returns its threads."""
    threads = [
        threading.Thread(target=Tail(stop).run, name="tail", daemon=True),
        threading.Thread(target=Fleets(stop).run, name="fleets", daemon=True),
    ]
    for thread in threads:
        thread.start()
    return threads
