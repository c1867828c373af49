"""`manage.py export_cluster --name NAME [FILE]`: a cluster's inventory as native YAML, which import_cluster reads back."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from clusters.domain.errors import ClusterError
from clusters.inventory.service import inventory_export
from clusters.management.telling import in_words


class Command(BaseCommand):
    """Exports one cluster."""

    help = "Write the inventory of a cluster as native YAML, to FILE or standard output."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", nargs="?", help="where to write; standard output where none is given")
        parser.add_argument("--name", required=True, help="of the cluster")

    def handle(self, *, file: str | None, name: str, **_: Any) -> None:
        try:
            text = inventory_export(name)
        except ClusterError as error:
            raise CommandError(in_words(error)) from error
        if file is None:
            self.stdout.write(text, ending="")
            return
        try:
            Path(file).write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"FILE: {file!r} cannot be written ({error.strerror}); give a path in a directory that exists") from error
