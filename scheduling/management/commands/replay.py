"""`manage.py replay --cluster NAME [--verify] [--json]`: fold a cluster's log from its beginning, count, and prove it.

With --verify each decision of the running engine is made again and everything derived from the log is compared with it; any difference
is listed with its position, and the command exits with 1.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from clusters.domain.errors import ClusterError
from clusters.eventlog.store import default_log
from clusters.eventlog.verify import Report, replay, verify
from clusters.management.telling import in_words
from scheduling.domain.decide import decide

#: Differences shown to people; one wrong event makes much that follows differ. --json has all.
SHOWN = 20


class Command(BaseCommand):
    """Replays one log."""

    help = "Fold a cluster's log from its beginning and count its events; with --verify prove it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--cluster", required=True, metavar="NAME")
        parser.add_argument("--verify", action="store_true", help="make every decision again and compare; exit with 1 if anything differs")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *, cluster: str, verify: bool, **options: Any) -> None:
        try:
            report = _run(cluster, prove=verify)
        except ClusterError as error:
            raise CommandError(in_words(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(as_json(report)))
        else:
            self.stdout.write("\n".join(as_text(report, proved=verify)))
        if report.differences:
            first = report.differences[0]
            raise CommandError(f"{len(report.differences)} differences, the first at event {first.seq}: {first.what}")


def _run(cluster: str, *, prove: bool) -> Report:
    return verify(default_log(), cluster, decide) if prove else replay(default_log(), cluster)


def as_json(report: Report) -> dict[str, Any]:
    """The report as JSON values."""
    return {
        "cluster": report.cluster,
        "head": report.head,
        "events": dict(sorted(report.events.items())),
        "decisions": {verb: asdict(tally) for verb, tally in sorted(report.decisions.items())},
        "differences": [asdict(difference) for difference in report.differences],
        "seconds": round(report.seconds, 3),
        "events_per_second": round(report.events_per_second),
    }


def as_text(report: Report, *, proved: bool) -> list[str]:
    """The report in lines."""
    lines = [
        f"{report.cluster}: {report.events.total():,} events up to position {report.head:,} "
        f"in {report.seconds:.2f} s ({report.events_per_second:,.0f} events/s)",
        "",
        f"{'event':<24}{'count':>12}",
        *(f"{kind:<24}{count:>12,}" for kind, count in sorted(report.events.items())),
    ]
    if proved:
        lines += ["", f"{'decisions on':<24}{'re-made':>12}{'validated':>12}{'differing':>12}"]
        lines += [
            f"{verb:<24}{tally.remade:>12,}{tally.validated:>12,}{tally.differing:>12,}" for verb, tally in sorted(report.decisions.items())
        ]
        lines += ["", *(f"event {difference.seq}: {difference.what}" for difference in report.differences[:SHOWN])]
        lines += [f"... and {len(report.differences) - SHOWN} more"] if len(report.differences) > SHOWN else []
        lines += [] if report.differences else ["nothing differs"]
    return lines
