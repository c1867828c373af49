"""`manage.py load_demo`: the demo cluster, full and running."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from clusters.domain.books import Use
from clusters.domain.books_of import read_books
from clusters.eventlog.store import default_log
from scheduling.simulator.opening import NAME, demo_create, demo_options


class Command(BaseCommand):
    """Run again, it changes nothing."""

    help = "Create the demo cluster: 128 simulated racks, about 85 % of all nodes in use."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--published-repairs", action="store_true", help="repair times as published: 0.2 %% of nodes down, not 2 %%")

    def handle(self, *_args: Any, **options: Any) -> None:
        began = time.monotonic()
        if not demo_create(options=demo_options(published_repairs=options["published_repairs"])):
            self.stdout.write(f"the cluster {NAME} is there already; nothing was changed")
            return
        with default_log().live(NAME).reading() as state:
            books = read_books(state)
            busy = books.use[Use.ALLOCATED] + books.use[Use.SHARED]
            jobs = len(state.jobs)
        self.stdout.write(
            f"created {NAME} in {time.monotonic() - began:.1f} s: {books.nodes} nodes, {busy / books.nodes:.0%} in use by {jobs} jobs"
        )
