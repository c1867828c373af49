"""Racks and nodes, and what operators say of nodes."""

from __future__ import annotations

import msgspec
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.domain.books import Condition, Use
from clusters.domain.commands import MarkNode, MarkSwitch, NodeVerb, SwitchVerb
from clusters.domain.fabric import CHIPS_PER_TRAY
from frontend.accounts.access import caller_of
from frontend.api.base import ApiView, answer
from frontend.api.commands import WRITING, Either, Rehearsal, give
from frontend.api.fields import Input, OneOf, Text, WholeNumber, checked
from frontend.selectors.clusters import reading
from frontend.selectors.nodes import NodeFacts, NodeFilter, RackFacts, node_get, nodes_from, rack_get, rack_nodes, racks_from
from frontend.selectors.paging import first_of

MOST_NODES = 1_000
MOST_RACKS = 1_000
MOST_NAME = 253  # characters of a node's name in Kubernetes
MOST_REASON = 200


class Racks(msgspec.Struct, frozen=True):
    """Some racks in the order in which they are drawn."""

    items: list[RackFacts]
    next: str | None  # give this as `after`


class RackDetail(msgspec.Struct, frozen=True):
    """A rack and its nodes from top to bottom."""

    rack: RackFacts
    nodes: list[NodeFacts]


class Nodes(msgspec.Struct, frozen=True):
    """Some nodes in the order in which they are drawn."""

    items: list[NodeFacts]
    next: str | None  # give this as `after`


class RacksQuery(Input):
    """Which racks."""

    block = Text(MOST_NAME, default="")
    after = Text(MOST_NAME, default="", help_text="the last rack of the page before")
    limit = WholeNumber(1, MOST_RACKS, default=MOST_RACKS)


class NodesQuery(Input):
    """Which nodes."""

    block = Text(MOST_NAME, default="")
    rack = Text(MOST_NAME, default="")
    domain = Text(MOST_NAME, default="")
    condition = OneOf(Condition, default="")
    use = OneOf(Use, default="")
    after = Text(MOST_NAME, default="", help_text="the last node of the page before")
    limit = WholeNumber(1, MOST_NODES, default=200)


class Reason(Input):
    """Why."""

    reason = Text(MOST_REASON, default="", help_text="kept in the log with your name")


class SwitchReason(Reason):
    """Which chip, and why."""

    chip = WholeNumber(1, CHIPS_PER_TRAY, required=False, allow_null=True, help_text="of the tray; left out, all of it")


class RackListView(ApiView):
    """The racks, some at a time."""

    @extend_schema(operation_id="racks_list", parameters=[RacksQuery], responses=Racks)
    def get(self, request: Request, cluster: str) -> Response:
        query = checked(RacksQuery, request.query_params)
        with reading(cluster) as state:
            items, more = first_of(racks_from(state, query["block"], query["after"]), query["limit"])
        return answer(Racks(items, items[-1].name if more else None))


class RackView(ApiView):
    """One rack with its nodes."""

    @extend_schema(operation_id="racks_get", responses=RackDetail)
    def get(self, request: Request, cluster: str, rack: str) -> Response:
        with reading(cluster) as state:
            return answer(RackDetail(rack_get(state, rack), rack_nodes(state, rack)))


class SwitchVerbView(ApiView):
    """Say that a switch tray of a rack, or one of its chips, has failed, or works again."""

    @extend_schema(operation_id="switches_mark", request=SwitchReason, responses={200: Either(RackFacts, Rehearsal)}, parameters=WRITING)
    def post(self, request: Request, cluster: str, rack: str, tray: int, verb: SwitchVerb) -> Response:
        said = checked(SwitchReason, request.data)
        by = caller_of(request).name
        command = MarkSwitch(rack=rack, tray=tray, verb=verb, by=by, chip=said.get("chip"), reason=said["reason"])
        done = give(request, cluster, command)
        if isinstance(done, Rehearsal):
            return answer(done)
        with reading(cluster) as state:
            return answer(rack_get(state, rack))


class NodeListView(ApiView):
    """The nodes, some at a time."""

    @extend_schema(operation_id="nodes_list", parameters=[NodesQuery], responses=Nodes)
    def get(self, request: Request, cluster: str) -> Response:
        query = checked(NodesQuery, request.query_params)
        chosen = NodeFilter(**{name: query[name] for name in ("block", "rack", "domain", "condition")})
        with reading(cluster) as state:
            items, more = first_of(nodes_from(state, chosen, query["use"], query["after"]), query["limit"])
        return answer(Nodes(items, items[-1].name if more else None))


class NodeView(ApiView):
    """One node."""

    @extend_schema(operation_id="nodes_get", responses=NodeFacts)
    def get(self, request: Request, cluster: str, node: str) -> Response:
        with reading(cluster) as state:
            return answer(node_get(state, node))


class NodeVerbView(ApiView):
    """Say something of a node: mark it failed or repaired, drain or undrain it, release it from quarantine."""

    @extend_schema(operation_id="nodes_mark", request=Reason, responses={200: Either(NodeFacts, Rehearsal)}, parameters=WRITING)
    def post(self, request: Request, cluster: str, node: str, verb: NodeVerb) -> Response:
        reason = checked(Reason, request.data)["reason"]
        done = give(request, cluster, MarkNode(node=node, verb=verb, by=caller_of(request).name, reason=reason))
        if isinstance(done, Rehearsal):
            return answer(done)
        with reading(cluster) as state:
            return answer(node_get(state, node))
