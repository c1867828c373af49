"""`manage.py parallel`: which slice size suits a plan, and what its communication costs in slices and in worse places."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.domain.constraints import ParallelPlan
from clusters.domain.errors import ClusterError
from clusters.management.telling import in_words
from scheduling.domain.parallelism.advice import Fleet
from scheduling.domain.parallelism.fabric import FABRIC_GBPS, nvlink_links
from scheduling.domain.parallelism.models import MODELS, ModelShape, Sharding, fitting_models, model_named
from scheduling.domain.parallelism.report import TERMS, FabricSource, Report, Setting, parallel_report
from scheduling.parallel import cluster_fleet, cluster_network

GPUS_PER_NODE, DOMAIN_NODES = 4, 18  # of an NVL72

DEGREES = ("tp", "ep", "pp", "dp")

#: What may be said of the model instead of what the published one has.
SHAPE: Mapping[str, type] = {
    "layers": int,
    "hidden": int,
    "parameters": float,
    "sequence": int,
    "experts": int,
    "top_k": int,
    "moe_layers": int,
    "expert_hidden": int,
    "micro_batch": int,
    "micro_batches": int,
    "activation_bytes": int,
    "gradient_bytes": int,
}


class Command(BaseCommand):
    """Prints tables, or the whole report as JSON."""

    help = "Advise a slice size for a plan (tp x ep x pp x dp), and estimate its communication in slices and in worse places."

    def add_arguments(self, parser: CommandParser) -> None:
        for name in DEGREES:
            parser.add_argument(f"--{name}", type=int, default=1, help="default %(default)s")
        parser.add_argument("--cluster", metavar="NAME", help="take nodes and domains as this cluster has them")
        parser.add_argument("--gpus-per-node", type=int, help=f"default {GPUS_PER_NODE}")
        parser.add_argument("--domain-nodes", type=int, help=f"nodes of a domain, default {DOMAIN_NODES}")
        parser.add_argument("--model", choices=list(MODELS), help="default: the published models that the plan could train")
        for name, kind in SHAPE.items():
            parser.add_argument(f"--{name.replace('_', '-')}", type=kind, help="instead of what the model has")
        parser.add_argument(
            "--fabric-gbps",
            type=float,
            help=f"gigabits a second of a GPU's own network port; default: as the cluster's inventory says, else {FABRIC_GBPS:g}",
        )
        parser.add_argument("--lost-chips", type=int, default=0, help="NVSwitch chips of the rack that are lost")
        parser.add_argument("--sharding", choices=[kind.value for kind in Sharding], default=Sharding.OPTIMIZER.value)
        parser.add_argument("--overlap", type=float, default=0.0, help="share of the data-parallel term that hides behind compute, 0 to 1")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            report = _report(options)
        except ClusterError as error:
            raise CommandError(in_words(error)) from error
        self.stdout.write(json.dumps(report) if options["json"] else "\n".join(_lines(report)))


def _report(options: Mapping[str, Any]) -> Report:
    plan = ParallelPlan(**{name: options[name] for name in DEGREES})
    fleet = _fleet(options)
    gbps, told = _network(options)
    links = nvlink_links(gbps, options["lost_chips"])
    setting = Setting(links=links, fabric_from=told, sharding=Sharding(options["sharding"]), overlap=options["overlap"])
    return parallel_report(plan, fleet, _models(options, plan), setting)


def _fleet(options: Mapping[str, Any]) -> Fleet:
    if options["cluster"] is None:
        return Fleet(
            gpus_per_node=GPUS_PER_NODE if options["gpus_per_node"] is None else options["gpus_per_node"],
            domain_nodes=DOMAIN_NODES if options["domain_nodes"] is None else options["domain_nodes"],
        )
    for field in ("gpus_per_node", "domain_nodes"):
        if options[field] is not None:
            flag = field.replace("_", "-")
            raise CommandError(f"--{flag} {options[field]} and --cluster {options['cluster']} exclude each other; the cluster has its own")
    return cluster_fleet(options["cluster"])


def _network(options: Mapping[str, Any]) -> tuple[float, FabricSource]:
    given = options["fabric_gbps"]
    if options["cluster"] is not None:
        return cluster_network(options["cluster"], given)
    return (FABRIC_GBPS, FabricSource.DEFAULT) if given is None else (given, FabricSource.GIVEN)


def _models(options: Mapping[str, Any], plan: ParallelPlan) -> Sequence[ModelShape]:
    models = fitting_models(plan.ep) if options["model"] is None else (model_named(options["model"]),)
    told = {name: options[name] for name in SHAPE if options[name] is not None}
    if not told:
        return models
    if options["model"] is None:
        raise CommandError(f"--model is missing; give the published one that --{next(iter(told)).replace('_', '-')} changes")
    return tuple(replace(model, name=f"{model.name}, changed", **told) for model in models)


# ---- as text


def _lines(report: Report) -> Iterator[str]:
    plan, advice, links = report["plan"], report["advice"], report["links"]
    degrees = " x ".join(f"{name} {plan[name]}" for name in DEGREES)
    yield f"{degrees} = {plan['gpus']:,} ranks on {advice['nodes']:,} nodes"
    sizes = "+".join(map(str, advice["slices"]))
    yield f"advice: max_slice {advice['max_slice']}, that is {sizes}" if sizes else "advice: no slice holds this plan"
    yield from (f"  {reason}" for reason in advice["why"])
    yield ""
    yield (
        f"estimated: communication a step in seconds; {links['inside_gbs']:g} GB/s inside a domain, {links['outside_gbs']:g} outside "
        f"({links['fabric_from']}), a GPU and direction: {links['ratio']:.3g}x"
    )
    yield f"  data-parallel ranks share: {report['sharding']}; share of that term hidden behind compute: {report['overlap']:g}"
    for cost in report["costs"]:
        yield from _cost(cost)
    if not report["costs"]:
        yield f"  no published model has experts for ep {plan['ep']}; name one with --model and change it"
    yield ""
    yield "published: measured by others, nothing here derives it"
    yield from (f"  {found['figure']:>12}  {found['what']} ({found['source']})" for found in report["published"])
    yield "fitted: a sum with one number chosen to meet a published figure"
    yield from (f"  {found['figure']:>12}  {found['what']} ({found['source']})" for found in report["fits"])


def _cost(cost: Report) -> Iterator[str]:
    yield f"  {cost['model']:<52} {'seconds':>9} {'ratio':>7} {'tp':>8} {'ep':>8} {'pp':>8} {'dp':>8}"
    for placement in cost["placements"]:
        ratio = "-" if placement["ratio"] is None else f"{placement['ratio']:.2f}x"
        terms = " ".join(f"{sum(placement['terms'][term].values()):>8.3f}" for term in TERMS)
        yield f"    {placement['label']:<50} {placement['seconds']:>9.3f} {ratio:>7} {terms}"
