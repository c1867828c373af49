"""`manage.py import_cluster FILE [TOPOLOGY_FILE] --name NAME`: bring a cluster to what an inventory says; it is made if there is none."""

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
from clusters.inventory.model import BadInventory, TooManyAbsent
from clusters.inventory.service import MOST_ABSENT, ImportReport, inventory_import
from clusters.management.telling import in_words

STDIN = "-"
#: In Slurm's directory the first that is there counts, and the other is not read.
TOPOLOGY_FILES = ("topology.yaml", "topology.conf")


class Command(BaseCommand):
    """Imports one file, all or nothing."""

    help = "Import an inventory (native YAML, Kubernetes or Slurm nodes) into a cluster. A bad file changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file",
            metavar="FILE",
            help=f"native YAML, or what kubectl get nodes -o json or scontrol show nodes --json prints; {STDIN} reads standard input",
        )
        parser.add_argument(
            "topology",
            nargs="?",
            metavar="TOPOLOGY_FILE",
            help="of Slurm: topology.yaml, topology.conf, or the directory with them, where topology.yaml comes first",
        )
        parser.add_argument("--name", required=True, help="of the cluster")
        parser.add_argument("--rack-label", metavar="KEY", help="the Kubernetes label that names the rack")
        parser.add_argument("--domain-label", metavar="KEY", help="the Kubernetes label that names the domain, instead of the clique")
        parser.add_argument("--dry-run", action="store_true", help="say what would change, and change nothing")
        parser.add_argument(
            "--allow-absent", action="store_true", help=f"also where more than {MOST_ABSENT:.0%}% of the nodes become absent"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *, file: str, topology: str | None, name: str, **options: Any) -> None:
        try:
            report = inventory_import(
                cluster=name,
                content=_content("FILE", file),
                filename=Path(file).name,
                by="import_cluster",
                rack_label=options["rack_label"],
                domain_label=options["domain_label"],
                topology=_content("TOPOLOGY_FILE", _topology_file(topology)) if topology else None,
                create=True,
                dry_run=options["dry_run"],
                allow_absent=options["allow_absent"],
            )
        except BadInventory as error:
            self._refuse(error, for_programs=options["json"])
        except ClusterError as error:
            raise CommandError(in_words(error)) from error
        else:
            self.stdout.write(as_json(report) if options["json"] else as_text(name, report, dry_run=options["dry_run"]))

    def _refuse(self, error: BadInventory, *, for_programs: bool) -> None:
        """Tell all problems where the caller looks for them, and exit with 1."""
        if for_programs:
            nothing = ImportReport(racks=0, nodes=0, events=0, states={}, problems=error.problems)
            self.stdout.write(as_json(nothing))
            raise CommandError("nothing was imported")
        problems = "".join(f"\n  {problem}" for problem in error.problems if problem.fatal)
        way = "\nIf it is, give --allow-absent." if isinstance(error, TooManyAbsent) else ""
        raise CommandError(f"nothing was imported:{problems}{way}")


def as_json(report: ImportReport) -> str:
    """The report for programs."""
    problems = [asdict(problem) for problem in report.problems]
    return json.dumps(
        {"racks": report.racks, "nodes": report.nodes, "events": report.events, "states": report.states, "problems": problems}
    )


def as_text(name: str, report: ImportReport, *, dry_run: bool) -> str:
    """The report for people."""
    states = ", ".join(f"{count} {state}" for state, count in report.states.items())
    lines = [
        f"{name}: {report.nodes} nodes in {report.racks} racks ({states})",
        f"{report.events} events {'would be ' if dry_run else ''}appended" if report.events else "nothing changed",
        *(f"  {problem}" for problem in report.problems),
    ]
    return "\n".join(lines)


def _topology_file(given: str) -> str:
    """The file, or the one that Slurm would read of a directory."""
    if not Path(given).is_dir():
        return given
    found = next((path for name in TOPOLOGY_FILES if (path := Path(given) / name).is_file()), None)
    if found is None:
        raise CommandError(f"TOPOLOGY_FILE: {given!r} has no {' or '.join(TOPOLOGY_FILES)}; give the directory of slurm.conf, or the file")
    return str(found)


def _content(argument: str, file: str) -> bytes:
    """The file, read one byte further than an import takes so that a longer one is refused as such."""
    try:
        if file == STDIN:
            return sys.stdin.buffer.read(MAX_FILE + 1)
        with Path(file).open("rb") as opened:
            return opened.read(MAX_FILE + 1)
    except OSError as error:
        raise CommandError(f"{argument}: {file!r} cannot be read ({error.strerror}); give the path of a file, or {STDIN}") from error
