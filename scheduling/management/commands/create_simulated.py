"""`manage.py create_simulated`: a cluster whose machines, work and failures are simulated."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.connectors.simulated import creation
from clusters.connectors.simulated.options import FAILURES_PER_NODE_DAY, REPAIR_FLAT, REPAIR_PUBLISHED, FleetOptions
from clusters.domain.errors import ClusterError
from clusters.management.telling import in_words

_REPAIRS = {"published": REPAIR_PUBLISHED, "flat": REPAIR_FLAT}


class Command(BaseCommand):
    """Creates the cluster; whatever serves or runs fleets drives it from then on."""

    help = "Create a simulated cluster."

    def add_arguments(self, parser: CommandParser) -> None:
        usual = FleetOptions()
        parser.add_argument("name")
        parser.add_argument("--racks", type=int, required=True)
        parser.add_argument("--nodes-per-rack", type=int, default=creation.NODES_PER_RACK)
        parser.add_argument("--gpus", type=int, default=creation.GPUS_PER_NODE, help="GPUs of each node")
        parser.add_argument("--racks-per-block", type=int, default=creation.RACKS_PER_BLOCK)
        rate = parser.add_mutually_exclusive_group()
        rate.add_argument("--failures-per-node-day", type=float, help=f"0 = none; default {FAILURES_PER_NODE_DAY:g}, as published")
        rate.add_argument("--failure-scale", type=float, help="times the published rate")
        parser.add_argument("--repair", choices=tuple(_REPAIRS), default="published", help="published: mixture with a mean of 21 h")
        parser.add_argument("--repair-mean-h", type=float, default=usual.repair_mean_h, help="mean of flat repairs")
        parser.add_argument("--bad-repairs", type=float, default=usual.bad_repairs, help="share of repairs that leave the fault")
        parser.add_argument("--check-s", type=float, default=usual.check_s, help="cluster seconds that the check of a repaired node takes")
        parser.add_argument("--launch-s", type=float, default=usual.launch_s, help="cluster seconds from placed to running")
        parser.add_argument("--seed", type=int, default=usual.seed)
        parser.add_argument("--speed", type=float, default=usual.speed, help="cluster seconds a wall second")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            shape = creation.Shape(
                racks=options["racks"],
                nodes_per_rack=options["nodes_per_rack"],
                gpus=options["gpus"],
                racks_per_block=options["racks_per_block"],
            )
            fleet = FleetOptions(
                seed=options["seed"],
                failures_per_node_day=_rate(options),
                repair_model=_REPAIRS[options["repair"]],
                repair_mean_h=options["repair_mean_h"],
                bad_repairs=options["bad_repairs"],
                check_s=options["check_s"],
                launch_s=options["launch_s"],
                speed=options["speed"],
            )
            creation.create_simulated(options["name"], shape, fleet, by="create_simulated")
        except ClusterError as error:
            raise CommandError(in_words(error)) from error
        nodes = shape.racks * shape.nodes_per_rack
        self.stdout.write(
            f"created {options['name']}: {shape.racks} racks, {nodes} nodes of {shape.gpus} GPUs, "
            f"{fleet.failures_per_node_day:g} failures a node-day, speed {fleet.speed:g}"
        )


def _rate(options: dict[str, Any]) -> float:
    if options["failures_per_node_day"] is not None:
        return float(options["failures_per_node_day"])
    return FAILURES_PER_NODE_DAY * (1.0 if options["failure_scale"] is None else options["failure_scale"])
