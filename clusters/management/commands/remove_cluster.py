"""`manage.py remove_cluster NAME`: a cluster and all its history, for good."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.domain.errors import ClusterError
from clusters.eventlog.maintenance import remove_cluster
from clusters.management.telling import in_words


class Command(BaseCommand):
    """Leaves an entry that says who removed it and why; what runs on the cluster's nodes is not touched."""

    help = "Remove a cluster with all its history from this installation."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--by", required=True, metavar="WHO", help="who removes it")
        parser.add_argument("--reason", required=True, metavar="WHY")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            remove_cluster(options["name"], options["by"], options["reason"])
        except ClusterError as error:
            raise CommandError(in_words(error)) from error
        self.stdout.write(f"{options['name']}: removed")
