"""`manage.py capacity`: how many nodes slices of each size can use, by the model or by what a cluster's log says."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.domain.errors import ClusterError
from clusters.management.telling import in_words
from scheduling.capacity import read_cluster_capacity
from scheduling.domain.capacity.advice import JobShape
from scheduling.domain.capacity.estimate import estimate
from scheduling.domain.capacity.failures import PUBLISHED_NODE_DAYS
from scheduling.domain.capacity.model import Fleet, Sizes
from scheduling.domain.capacity.report import Given, Report, cluster_report, fleet_report

NODES_PER_RACK = 18  # of an NVL72

#: What only makes sense without --cluster, which brings its own.
_OWN_FLEET = ("racks", "nodes_per_rack")


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not valid; give a number, such as 0.02") from None


def whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not valid; give a whole number, such as 18") from None


def slices(text: str) -> tuple[Sizes, ...]:
    return tuple(wholes(text, part.split("+"), "8,9,16,18, or 18+16 for racks filled with either") for part in text.split(","))


def jobs(text: str) -> dict[JobShape, float]:
    found: dict[JobShape, float] = {}
    for part in text.split(","):
        nodes, *unit = wholes(text, part.split(":", 1), "32,64:8, each nodes or nodes:unit")
        shape = JobShape(nodes=nodes, unit=unit[0] if unit else 1)
        found[shape] = found.get(shape, 0.0) + 1
    return found


def wholes(text: str, parts: Sequence[str], example: str) -> tuple[int, ...]:
    for part in parts:
        if not (part.isascii() and part.isdecimal()):
            raise ArgumentTypeError(f"{text!r} is not valid at {part!r}; give whole numbers, such as {example}")
    return tuple(int(part) for part in parts)


class Command(BaseCommand):
    """Prints a table, or the whole report as JSON."""

    help = "Usable nodes for each slice size; with --cluster, at the unavailability and correlation that the cluster's log shows."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--racks", type=whole, help="racks, each a domain that slices may not leave")
        parser.add_argument("--nodes-per-rack", type=whole, help=f"default {NODES_PER_RACK}")
        parser.add_argument("--cluster", metavar="NAME", help="this cluster's domains and log instead of --racks")
        parser.add_argument("--unavailability", type=number, metavar="P", help="share of node-time away, 0 to 1")
        parser.add_argument("--rho", type=number, help="correlation of two nodes of a rack, 0 to 1")
        parser.add_argument("--whole-rack-share", type=number, metavar="SHARE", help="share of P that is outages of whole racks, 0 to 1")
        parser.add_argument(
            "--slices", type=slices, default="8,9,16,18", help="sizes; 18+16 fills each rack with either; default %(default)s"
        )
        parser.add_argument("--jobs", type=jobs, metavar="NODES[:UNIT],...", help="jobs, for advice on the size they should have")
        parser.add_argument(
            "--node-days", type=number, metavar="DAYS", help=f"days between failures of a node, default {PUBLISHED_NODE_DAYS:g}"
        )
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            report = _report(options)
        except ClusterError as error:
            raise CommandError(in_words(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(report))
        else:
            self.stdout.write("\n".join(_lines(report)))


def _report(options: Mapping[str, Any]) -> Report:
    return _own_report(options) if options["cluster"] is None else _cluster_report(options)


def _own_report(options: Mapping[str, Any]) -> Report:
    for field, example in (("racks", "128"), ("unavailability", "0.02")):
        if options[field] is None:
            raise CommandError(f"--{field} is missing; give it, such as --{field} {example}, or name a cluster with --cluster")
    per_rack = NODES_PER_RACK if options["nodes_per_rack"] is None else options["nodes_per_rack"]
    return fleet_report(Fleet.uniform(options["racks"], per_rack), options["slices"], _given(options), options["jobs"] or {})


def _cluster_report(options: Mapping[str, Any]) -> Report:
    name = options["cluster"]
    for field in _OWN_FLEET:
        if options[field] is not None:
            flag = field.replace("_", "-")
            raise CommandError(f"--{flag} {options[field]} and --cluster {name} exclude each other; the cluster has racks of its own")
    cluster = read_cluster_capacity(name)
    if not cluster.fleet.nodes:
        raise CommandError(f"cluster {name!r} has no nodes in a known domain; import an inventory that names them first")
    if options["unavailability"] is None and estimate(cluster.live.observed).outages is None:
        raise CommandError(f"the log of cluster {name!r} covers no time yet; give --unavailability, such as 0.02")
    mix = cluster.mix if options["jobs"] is None else options["jobs"]
    return {"cluster": name} | cluster_report(cluster.fleet, cluster.live, options["slices"], _given(options), mix)


def _given(options: Mapping[str, Any]) -> Given:
    return Given(**{field: options[field] for field in ("unavailability", "rho", "whole_rack_share", "node_days")})


# ---- as text


def _lines(report: Report) -> Iterator[str]:
    yield _heading(report)
    yield ""
    yield f"{'slice':>8} {'usable':>9} {'share':>7} {'sd':>7} {'99 % sure of':>13} {'slices':>7}"
    for size, found in report["slices"].items():
        yield (
            f"{size:>8} {found['nodes']:>9,.1f} {found['share']:>7.1%} {found['sd']:>7.1f} "
            f"{found['p01']:>13,} {found['promised_slices']['0.99']:>7,}"
        )
    yield ""
    for part in (_break_evens, _interruptions, _measured, _advised):
        yield from part(report)
    yield from (f"note: {caveat}" for caveat in report["caveats"])


def _heading(report: Report) -> str:
    fleet = " + ".join(f"{group['count']:,} x {group['nodes']}" for group in report["domains"])
    name = f"{report['cluster']}: " if "cluster" in report else ""
    return (
        f"{name}{fleet} nodes = {report['nodes']:,}; unavailability {report['unavailability']:.2%}, "
        f"correlation {report['rho']:.3f}, whole-rack share {report['whole_rack_share']:.0%}"
    )


def _break_evens(report: Report) -> Iterator[str]:
    for found in (point for point in report["break_evens"] if point.get("of_use", True)):
        beats = f"{found['better_above']} beats {found['better_below']}"
        yield f"were all jobs such slices: from {found['unavailability']:.2%} unavailability on {beats}"


def _interruptions(report: Report) -> Iterator[str]:
    found = report["interruptions"]
    yield (
        f"interruptions: one in {found['node_days']:,.0f} days a node, {found['rack_days']:,.1f} days a rack, "
        f"{found['fleet_hours']:,.1f} h the fleet ({found['fleet_per_day']:,.1f} a day)"
    )


def _measured(report: Report) -> Iterator[str]:
    found = report.get("measured")
    if found is None:
        return
    yield f"log of {found['span_days']:,.1f} days, {found['node_days']:,.0f} node-days:"
    yield f"  unavailability {_value(found['unavailability'], '{:.2%}')}"
    yield f"  correlation {_value(found['rho'], '{:.3f}')}; whole racks {found['whole_rack_share']:.0%} of it"
    yield f"  {found['interruptions']['count']:,} failures; days a rack: {_value(found['interruptions']['rack_days'], '{:,.1f}')}"
    for size, nodes in found["usable"].items():
        yield f"  slices of {size} could use {_value(nodes, '{:,.1f}')}; now {found['usable_now'][size]:,}"
    yield from (f"  caution: {caution}" for caution in found["cautions"])


def _value(found: Report, form: str) -> str:
    value = _shown(found["value"], form)
    if found["low"] is None and found["high"] is None:
        return f"{value} (no interval: {found['reason']})"
    return f"{value} ({_shown(found['low'], form)} to {_shown(found['high'], form)})"


def _shown(value: float | None, form: str) -> str:
    return "?" if value is None else form.format(value)


def _advised(report: Report) -> Iterator[str]:
    advice = report["advice"]
    if advice is None:
        return
    if advice["size"] is None:
        yield f"advice: no size is of use to these jobs, {advice['basis']}"
    else:
        doubt = (
            f"; within the interval of the unavailability also {', '.join(map(str, advice['elsewhere']))}" if advice["elsewhere"] else ""
        )
        has = "" if advice["policy"] is None else f"; the policy has {advice['policy']}"
        yield f"advice: slices of {advice['size']}{doubt}{has}"
        yield f"  chosen {advice['basis']}"
    for choice in advice["choices"]:
        but = f" ({choice['reason']})" if choice["reason"] else ""
        yield f"  {choice['size']}: {choice['usable']:,.1f} nodes for these jobs{but}"
