"""Nodes that are failed or quarantined."""

from __future__ import annotations

import msgspec
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from frontend.api.base import ApiView, answer
from frontend.api.fields import Input, OneOf, Text, WholeNumber, checked
from frontend.api.nodes import MOST_NAME
from frontend.selectors.clusters import reading
from frontend.selectors.incidents import FLAGS, Incident, IncidentFilter, incidents_from
from frontend.selectors.paging import first_of

MOST_INCIDENTS = 1_000


class Incidents(msgspec.Struct, frozen=True):
    """Some incidents in the order in which their nodes are drawn."""

    items: list[Incident]
    next: str | None  # give this as `after`


class IncidentsQuery(Input):
    """Which incidents."""

    flag = OneOf(FLAGS, default="")
    block = Text(MOST_NAME, default="")
    rack = Text(MOST_NAME, default="")
    domain = Text(MOST_NAME, default="")
    after = Text(MOST_NAME, default="", help_text="the node of the last incident of the page before")
    limit = WholeNumber(1, MOST_INCIDENTS, default=200)


class IncidentListView(ApiView):
    """What is wrong with nodes now."""

    @extend_schema(
        operation_id="incidents_list",
        parameters=[IncidentsQuery],
        responses=Incidents,
        description=(
            "Open failures and quarantines, one entry a node, with who reported them, since when and why, and the jobs they concern now. "
            "Each node stands for itself: nodes of one domain that fail together are so many entries, and will be one incident later."
        ),
    )
    def get(self, request: Request, cluster: str) -> Response:
        query = checked(IncidentsQuery, request.query_params)
        chosen = IncidentFilter(**{name: query[name] for name in ("flag", "block", "rack", "domain")})
        with reading(cluster) as state:
            items, more = first_of(incidents_from(state, chosen, query["after"]), query["limit"])
        return answer(Incidents(items, items[-1].node if more else None))
