"""`manage.py import_cluster FILE --name NAME`: bring a cluster to what an inventory file says; it is made if there is none of that name."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from clusters.domain.errors import ClusterError
from clusters.inventory.documents import MAX_FILE
from clusters.inventory.model import BadInventory
from clusters.inventory.service import ImportReport, inventory_import

STDIN = "-"


class Command(BaseCommand):
    """Imports one file, all or nothing."""

    help = "Import an inventory (native YAML or Kubernetes nodes) into a cluster. A bad file changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", metavar="FILE", help=f"native YAML, or what kubectl get nodes -o json prints; {STDIN} reads standard input"
        )
        parser.add_argument("--name", required=True, help="of the cluster")
        parser.add_argument("--rack-label", metavar="KEY", help="the Kubernetes label that names the rack")
        parser.add_argument("--domain-label", metavar="KEY", help="the Kubernetes label that names the domain, instead of the clique")
        parser.add_argument("--dry-run", action="store_true", help="say what would change, and change nothing")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *, file: str, name: str, rack_label: str | None, domain_label: str | None, **options: Any) -> None:
        try:
            report = inventory_import(
                cluster=name,
                content=_content(file),
                filename=Path(file).name,
                by="import_cluster",
                rack_label=rack_label,
                domain_label=domain_label,
                create=True,
                dry_run=options["dry_run"],
            )
        except BadInventory as error:
            self._refuse(error, as_json=options["json"])
        except ClusterError as error:
            raise CommandError(str(error)) from error
        else:
            self.stdout.write(json.dumps(asdict(report)) if options["json"] else as_text(name, report, dry_run=options["dry_run"]))

    def _refuse(self, error: BadInventory, *, as_json: bool) -> None:
        """Tell all problems where the caller looks for them, and exit with 1."""
        if as_json:
            nothing = ImportReport(racks=0, nodes=0, events=0, states={}, problems=error.problems)
            self.stdout.write(json.dumps(asdict(nothing)))
            raise CommandError("nothing was imported")
        problems = "".join(f"\n  {problem}" for problem in error.problems if problem.fatal)
        raise CommandError(f"nothing was imported:{problems}")


def as_text(name: str, report: ImportReport, *, dry_run: bool) -> str:
    """The report for people."""
    states = ", ".join(f"{count} {state}" for state, count in report.states.items())
    lines = [
        f"{name}: {report.nodes} nodes in {report.racks} racks ({states})",
        f"{report.events} events {'would be ' if dry_run else ''}appended" if report.events else "nothing changed",
        *(f"  {problem}" for problem in report.problems),
    ]
    return "\n".join(lines)


def _content(file: str) -> bytes:
    """The file, read one byte further than an import takes so that a longer one is refused as such."""
    try:
        if file == STDIN:
            return sys.stdin.buffer.read(MAX_FILE + 1)
        with Path(file).open("rb") as opened:
            return opened.read(MAX_FILE + 1)
    except OSError as error:
        raise CommandError(f"FILE: {file!r} cannot be read ({error.strerror}); give the path of an inventory file, or {STDIN}") from error
