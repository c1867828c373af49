"""Plans that make room: what there is, what people decide about it, and whole domains that they want."""

from __future__ import annotations

import msgspec
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.domain.commands import ApprovePlan, Command, DropRoom, RejectPlan, RequestRoom
from clusters.domain.decision import Refusal
from clusters.domain.ids import SECOND
from frontend.accounts.access import caller_of
from frontend.api.base import ApiView, answer
from frontend.api.commands import WRITING, Either, Rehearsal, WriteQuery, give
from frontend.api.errors import Refused
from frontend.api.fields import Input, Text, WholeNumber, checked
from frontend.api.idempotency import idempotency_key
from frontend.api.nodes import MOST_REASON, Reason
from frontend.selectors.clusters import now_of, reading
from frontend.selectors.paging import first_of
from frontend.selectors.plancalls import PlanCall, plan_calls
from frontend.selectors.plans import (
    RoomFacts,
    RoomPlan,
    open_plans,
    past_plans,
    plan_events,
    plan_facts,
    plan_get,
    room_wanted,
)
from scheduling.whatif import room_what_if

MOST_PLANS = 200
MOST_DOMAINS = 10_000
MOST_AHEAD_S = 30 * 24 * 3600


class Plans(msgspec.Struct, frozen=True):
    """Plans that wait or run, whole domains that are wanted, and some of the plans that have ended, each the newest first."""

    open: list[RoomPlan]
    room: RoomFacts | None
    calls: list[PlanCall]  # what a plan would help, and why there is none; the most urgent first
    past: list[RoomPlan]
    next: str | None  # give this as `before`


class RoomWanted(msgspec.Struct, frozen=True):
    """Whole domains that are wanted, if any; a plan for them is looked for."""

    room: RoomFacts | None


class WhatIf(msgspec.Struct, frozen=True):
    """The plan that would be proposed; nothing was stored."""

    dry_run: bool  # true
    plan: RoomPlan


class PlansQuery(Input):
    """Which of the plans that have ended."""

    before = Text(20, default="", help_text="the id of a plan: those made before it")
    limit = WholeNumber(1, MOST_PLANS, default=50)


class RoomInput(Input):
    """Whole domains that are to be free of work."""

    domains = WholeNumber(1, MOST_DOMAINS)
    in_s = WholeNumber(
        1, MOST_AHEAD_S, required=False, allow_null=True, default=None, help_text="seconds of cluster time until they are to be free"
    )
    reason = Text(MOST_REASON, default="")


class PlanListView(ApiView):
    """All plans."""

    @extend_schema(operation_id="plans_list", parameters=[PlansQuery], responses=Plans)
    def get(self, request: Request, cluster: str) -> Response:
        query = checked(PlansQuery, request.query_params)
        with reading(cluster) as state:
            live, room, seq = open_plans(state), room_wanted(state), state.seq
        before = position_of(query["before"], seq + 1)
        past, more = first_of(past_plans(cluster, before, {plan.id for plan in live}), query["limit"])
        return answer(Plans(live, room, plan_calls(cluster)[:MOST_PLANS], past, past[-1].id if more else None))


class PlanView(ApiView):
    """One plan."""

    @extend_schema(operation_id="plans_get", responses=RoomPlan)
    def get(self, request: Request, cluster: str, plan: str) -> Response:
        return answer(_told(cluster, plan))


class PlanVerbView(ApiView):
    """Have a proposed plan carried out, or do away with it."""

    @extend_schema(operation_id="plans_do", request=Reason, responses={200: Either(RoomPlan, Rehearsal)}, parameters=WRITING)
    def post(self, request: Request, cluster: str, plan: str, verb: str) -> Response:
        reason, by = checked(Reason, request.data)["reason"], caller_of(request).name
        command: Command = ApprovePlan(plan=plan, by=by) if verb == "approve" else RejectPlan(plan=plan, by=by, reason=reason)
        done = give(request, cluster, command)
        return answer(done if isinstance(done, Rehearsal) else _told(cluster, plan))


class RoomView(ApiView):
    """Whole domains that are wanted."""

    @extend_schema(
        operation_id="plans_request",
        request=RoomInput,
        responses={200: Either(RoomWanted, WhatIf)},
        parameters=WRITING,
        description="A plan is looked for in the background. With `dry_run` it is looked for at once, which takes seconds, and shown.",
    )
    def post(self, request: Request, cluster: str) -> Response:
        wanted = checked(RoomInput, request.data)
        if checked(WriteQuery, request.query_params)["dry_run"]:
            idempotency_key(request)  # refused alike, though there is nothing to remember
            found = room_what_if(cluster, wanted["domains"])
            if isinstance(found, Refusal):
                raise Refused(found)
            return answer(WhatIf(True, plan_facts(found, wanted["reason"])))
        with reading(cluster) as state:
            at = None if wanted["in_s"] is None else now_of(state) + wanted["in_s"] * SECOND
        give(request, cluster, RequestRoom(domains=wanted["domains"], by=caller_of(request).name, reason=wanted["reason"], at=at))
        return _room(cluster)


class RoomDropView(ApiView):
    """Whole domains are wanted no more."""

    @extend_schema(operation_id="plans_drop_request", request=Reason, responses={200: Either(RoomWanted, Rehearsal)}, parameters=WRITING)
    def post(self, request: Request, cluster: str) -> Response:
        reason = checked(Reason, request.data)["reason"]
        done = give(request, cluster, DropRoom(by=caller_of(request).name, reason=reason))
        return answer(done) if isinstance(done, Rehearsal) else _room(cluster)


def position_of(plan: str, otherwise: int) -> int:
    """The position at which a plan was proposed, from its id."""
    number = plan[1:19]
    return int(number) if plan.startswith("p") and number.isascii() and number.isdigit() else otherwise


def _told(cluster: str, plan: str) -> RoomPlan:
    events = plan_events(cluster, plan)
    with reading(cluster) as state:
        return plan_get(state, events)


def _room(cluster: str) -> Response:
    with reading(cluster) as state:
        return answer(RoomWanted(room_wanted(state)))
