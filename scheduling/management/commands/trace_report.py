"""`manage.py trace_report`: how the jobs of a cluster fared, from its log."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.domain.errors import ClusterError
from clusters.eventlog.store import default_log
from clusters.management.telling import in_words
from scheduling.simulator.report import ClusterReport, lines_of


class Command(BaseCommand):
    """Reads the whole log; changes nothing."""

    help = "Report how the jobs of a cluster fared: waits and their reasons, swaps, moves, stalls, utilisation."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--cluster", required=True)
        parser.add_argument("--json", action="store_true")

    def handle(self, *_args: Any, **options: Any) -> None:
        report = ClusterReport()
        try:
            for event in default_log().read(options["cluster"]):
                report.take(event)
        except ClusterError as error:
            raise CommandError(in_words(error)) from error
        summary = {"cluster": options["cluster"], **report.summary()}
        self.stdout.write(json.dumps(summary, indent=2) if options["json"] else "\n".join(lines_of(summary)))
