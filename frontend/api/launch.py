"""Ranks of placed jobs for launchers, and what plans cost before anything is placed."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.domain.constraints import ParallelPlan
from clusters.domain.decision import Refusal
from frontend.api.base import ApiView, answer
from frontend.api.commands import Either
from frontend.api.errors import MEDIA_TYPE, Problem, Refused
from frontend.api.fields import Input, Number, OneOf, WholeNumber, checked
from frontend.selectors.launch import LaunchFacts, RankTable, launch_facts, launch_get
from frontend.selectors.parallel import MOST_RANKS, ParallelReport, parallel_get
from scheduling.domain.parallelism.models import MODELS, Sharding, fitting_models
from scheduling.launch.assignment import Launch
from scheduling.launch.formats import Format, content_type, filename, incomplete, written

MOST_GENERATIONS = 1_000_000_000
LEAST_GBPS, MOST_GBPS = 1, 100_000
GBPS_HELP = "gigabits a second of a GPU's own network port; default: as the inventory says, else 400"


class LaunchQuery(Input):
    """Which assignment, as what."""

    format = OneOf(Format, default="", help_text="a file for a launcher; without it, what there is to know of the assignment")
    generation = WholeNumber(1, MOST_GENERATIONS, default=None, help_text="an earlier assignment; of a job that has ended, the last one")
    fabric_gbps = Number(LEAST_GBPS, MOST_GBPS, default=None, help_text=GBPS_HELP)


class ParallelQuery(Input):
    """A plan, and what it is asked about."""

    tp = WholeNumber(1, MOST_RANKS, default=1, help_text="tensor parallel")
    ep = WholeNumber(1, MOST_RANKS, default=1, help_text="expert parallel")
    pp = WholeNumber(1, MOST_RANKS, default=1, help_text="pipeline parallel")
    dp = WholeNumber(1, MOST_RANKS, default=1, help_text="data parallel")
    model = OneOf(MODELS, default="", help_text="a published model; without it, those that the plan could train")
    fabric_gbps = Number(LEAST_GBPS, MOST_GBPS, default=None, help_text=GBPS_HELP)
    sharding = OneOf(Sharding, default=Sharding.OPTIMIZER.value, help_text="what data-parallel ranks share")
    overlap = Number(0, 1, default=0.0, help_text="share of the data-parallel term that hides behind compute")


class FormatIsOurs(BaseContentNegotiation):
    """The parameter `format` names a launcher's file here, and no renderer: whatever is accepted, the answer is what it says."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


class LaunchView(ApiView):
    """The ranks of a placed job: what they cost, and files for launchers."""

    content_negotiation_class = FormatIsOurs

    @extend_schema(
        operation_id="jobs_launch",
        parameters=[LaunchQuery],
        responses={
            (200, "application/json"): Either(LaunchFacts, RankTable),
            (200, "text/plain"): OpenApiTypes.STR,
            (409, MEDIA_TYPE): Problem,  # it has no nodes, or not all
        },
    )
    def get(self, request: Request, cluster: str, job: str) -> HttpResponse:
        query = checked(LaunchQuery, request.query_params)
        launch = launch_get(cluster, job, query["generation"])
        if isinstance(launch, Refusal):
            raise Refused(launch)
        return _file(launch, Format(query["format"])) if query["format"] else answer(launch_facts(launch, query["fabric_gbps"]))


class ParallelView(ApiView):
    """Which slice size suits a plan, and what its communication costs there and in worse places."""

    @extend_schema(operation_id="parallel_get", parameters=[ParallelQuery], responses=ParallelReport)
    def get(self, request: Request, cluster: str) -> Response:
        query = checked(ParallelQuery, request.query_params)
        plan = ParallelPlan(**{name: query[name] for name in ("tp", "ep", "pp", "dp")})
        models = (MODELS[query["model"]],) if query["model"] else fitting_models(plan.ep)
        report = parallel_get(
            cluster, plan, models, fabric_gbps=query["fabric_gbps"], sharding=Sharding(query["sharding"]), overlap=query["overlap"]
        )
        return answer(report)


def _file(launch: Launch, form: Format) -> HttpResponse:
    refusal = incomplete(launch, form)
    if refusal is not None:
        raise Refused(refusal)
    headers = {"Content-Disposition": f'attachment; filename="{filename(launch, form)}"', "Cache-Control": "no-store"}
    return HttpResponse(written(launch, form), content_type=content_type(form), headers=headers)
