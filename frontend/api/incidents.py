"""Incidents, and the breaker that stops verdicts."""

from __future__ import annotations

import msgspec
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.domain.commands import ResetBreaker
from frontend.accounts.access import caller_of
from frontend.api.base import ApiView, answer
from frontend.api.commands import WRITING, Either, Rehearsal, give
from frontend.api.fields import Input, OneOf, Text, WholeNumber, checked
from frontend.api.nodes import MOST_NAME, Reason
from frontend.selectors.clusters import reading
from frontend.selectors.incidents import FLAGS, BreakerFacts, Incident, IncidentFilter, breaker_get, incidents_from
from frontend.selectors.paging import first_of

MOST_INCIDENTS = 1_000


class Incidents(msgspec.Struct, frozen=True):
    """Some incidents: those of several nodes by age, then nodes by themselves as they are drawn."""

    items: list[Incident]
    next: str | None  # give this as `after`


class IncidentsQuery(Input):
    """Which incidents."""

    flag = OneOf(FLAGS, default="")
    block = Text(MOST_NAME, default="")
    rack = Text(MOST_NAME, default="")
    domain = Text(MOST_NAME, default="")
    after = Text(MOST_NAME, default="", help_text="the id of the last incident of the page before, or its node where it has none")
    limit = WholeNumber(1, MOST_INCIDENTS, default=200)


class IncidentListView(ApiView):
    """What is wrong with nodes now."""

    @extend_schema(
        operation_id="incidents_list",
        parameters=[IncidentsQuery],
        responses=Incidents,
        description=(
            "Open failures and quarantines: nodes of one domain that failed together are one incident with an id, any other node is an "
            "entry by itself. Each node says who reported it, since when and why, and the jobs it concerns now."
        ),
    )
    def get(self, request: Request, cluster: str) -> Response:
        query = checked(IncidentsQuery, request.query_params)
        chosen = IncidentFilter(**{name: query[name] for name in ("flag", "block", "rack", "domain")})
        with reading(cluster) as state:
            items, more = first_of(incidents_from(state, chosen, query["after"]), query["limit"])
        return answer(Incidents(items, (items[-1].id or items[-1].nodes[0].node) if more else None))


class BreakerView(ApiView):
    """Whether verdicts act."""

    @extend_schema(operation_id="breaker_get", responses=BreakerFacts)
    def get(self, request: Request, cluster: str) -> Response:
        with reading(cluster) as state:
            return answer(breaker_get(state))


class BreakerResetView(ApiView):
    """Let verdicts act again, after the breaker has stopped them."""

    @extend_schema(operation_id="breaker_reset", request=Reason, responses={200: Either(BreakerFacts, Rehearsal)}, parameters=WRITING)
    def post(self, request: Request, cluster: str) -> Response:
        reason = checked(Reason, request.data)["reason"]
        done = give(request, cluster, ResetBreaker(by=caller_of(request).name, reason=reason))
        if isinstance(done, Rehearsal):
            return answer(done)
        with reading(cluster) as state:
            return answer(breaker_get(state))
