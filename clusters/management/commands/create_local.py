"""`manage.py create_local`: a cluster whose nodes are processes of this machine."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.connectors.local.creation import MOST_NODES, create_local
from clusters.connectors.simulated.creation import GPUS_PER_NODE, NODES_PER_RACK, Shape
from clusters.domain.errors import ClusterError
from clusters.management.telling import in_words


class Command(BaseCommand):
    """Creates the cluster; `run_local` runs its nodes."""

    help = "Create a cluster whose nodes are processes of this machine; run_local runs them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--racks", type=int, default=1)
        parser.add_argument("--nodes-per-rack", type=int, default=NODES_PER_RACK)
        parser.add_argument("--gpus", type=int, default=GPUS_PER_NODE, help="GPUs that each node is said to have")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            shape = Shape(racks=options["racks"], nodes_per_rack=options["nodes_per_rack"], gpus=options["gpus"])
            if (nodes := shape.racks * shape.nodes_per_rack) > MOST_NODES:
                raise CommandError(f"{nodes} nodes are too many processes for one machine: ask for at most {MOST_NODES}")
            create_local(options["name"], shape, by="create_local")
        except ClusterError as error:
            raise CommandError(in_words(error)) from error
        self.stdout.write(f"created {options['name']}: {shape.racks} racks, {nodes} local nodes of {shape.gpus} GPUs")
