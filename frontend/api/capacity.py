"""Capacity for each slice size, and spares against target."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.eventlog.store import default_log
from frontend.api.base import ApiView, answer
from frontend.api.fields import Input, Number, Text, WholeNumber, checked
from frontend.selectors.capacity import DEFAULT_SIZES, MOST_TEXT, CapacityReport, capacity_get, capacity_of_fleet, read_sizes
from frontend.selectors.spares import ClusterSpares, cluster_spares
from scheduling.domain.capacity.model import Fleet
from scheduling.domain.capacity.report import Given

#: How the schema describes slice sizes: up to eight, each of up to three that are mixed.
_SIZE = "([1-9][0-9]{0,2}|10[01][0-9]|102[0-4])"
_MIXED = rf"{_SIZE}(\+{_SIZE}){{0,2}}"
_SIZES = f"^({_MIXED}(,{_MIXED}){{0,7}})?$"

#: Larger fleets take the command: an answer must not keep others waiting.
MOST_RACKS = 2_000
MOST_PER_RACK = 72  # the widest domain in sight
NODES_PER_RACK = 18  # of an NVL72

#: A node that runs a thousand years is none to plan for.
MOST_DAYS = 400_000


class CapacityQuery(Input):
    """What to ask the model; what is left out is read off the cluster's log."""

    sizes = Text(
        MOST_TEXT, default=DEFAULT_SIZES, pattern=_SIZES, help_text="slice sizes, such as 8,16; 18+16 fills each domain with either"
    )
    racks = WholeNumber(1, MOST_RACKS, default=None, help_text="ask about a fleet of so many racks instead of the cluster's own")
    nodes_per_rack = WholeNumber(1, MOST_PER_RACK, default=NODES_PER_RACK, help_text="of that fleet")
    unavailability = Number(0, 1, default=None, help_text="share of node-time away")
    rho = Number(0, 1, default=None, help_text="correlation of two nodes of a domain")
    whole_rack_share = Number(0, 1, default=None, help_text="share of the unavailability that is outages of whole racks")
    node_days = Number(0.001, MOST_DAYS, default=None, help_text="days between failures of a node")


class CapacityView(ApiView):
    """Usable nodes for each slice size, what the cluster's log says of failures, and which size suits its jobs."""

    @extend_schema(operation_id="capacity_get", parameters=[CapacityQuery], responses=CapacityReport)
    def get(self, request: Request, cluster: str) -> Response:
        query = checked(CapacityQuery, request.query_params)
        slices = read_sizes(query["sizes"] or DEFAULT_SIZES)
        given = Given(**{name: query[name] for name in ("unavailability", "rho", "whole_rack_share", "node_days")})
        if query["racks"] is None:
            return answer(capacity_get(cluster, slices, given))
        default_log().position(cluster)  # what is asked below a cluster that does not exist is not found
        return answer(capacity_of_fleet(_fleet(query), slices, given))


class SparesView(ApiView):
    """Spares against target by domain, and the cheapest restartable moves that would restore domains that lack some. Nobody makes them."""

    @extend_schema(operation_id="spares_get", responses=ClusterSpares)
    def get(self, request: Request, cluster: str) -> Response:
        return answer(cluster_spares(cluster))


def _fleet(query: dict[str, Any]) -> Fleet:
    return Fleet.uniform(query["racks"], query["nodes_per_rack"])
