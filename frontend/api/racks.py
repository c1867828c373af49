"""Which work a rack takes, and the end of one."""

from __future__ import annotations

import msgspec
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.domain.commands import RemoveRack, SetRackState
from clusters.domain.ids import SECOND
from clusters.domain.racks import RackState
from frontend.accounts.access import caller_of
from frontend.api.base import ApiView, answer
from frontend.api.commands import WRITING, Either, Rehearsal, give
from frontend.api.fields import OneOf, WholeNumber, checked
from frontend.api.nodes import Reason
from frontend.selectors.clusters import now_of, reading
from frontend.selectors.nodes import RackFacts, rack_get

#: Far enough for any maintenance, near enough to be no mistake.
MOST_HOURS = 24 * 365


class Service(Reason):
    """Which work the rack is to take, and why."""

    state = OneOf(RackState)
    in_s = WholeNumber(
        1,
        MOST_HOURS * 3600,
        required=False,
        allow_null=True,
        default=None,
        help_text="with no_new_long_jobs: seconds of cluster time until its maintenance begins",
    )


class RackStateView(ApiView):
    """Have a rack take all work, only what ends before its maintenance, or none."""

    @extend_schema(operation_id="racks_set_state", request=Service, responses={200: Either(RackFacts, Rehearsal)}, parameters=WRITING)
    def put(self, request: Request, cluster: str, rack: str) -> Response:
        wanted = checked(Service, request.data)
        with reading(cluster) as state:
            until = None if wanted["in_s"] is None else now_of(state) + wanted["in_s"] * SECOND
        command = SetRackState(
            rack=rack, state=RackState(wanted["state"]), until=until, by=caller_of(request).name, reason=wanted["reason"]
        )
        done = give(request, cluster, command)
        if isinstance(done, Rehearsal):
            return answer(done)
        with reading(cluster) as state:
            return answer(rack_get(state, rack))


class RemovedRack(msgspec.Struct, frozen=True):
    """A rack that is no more."""

    rack: str
    nodes: int  # that went with it


class RackRemoveView(ApiView):
    """Take a rack and all its nodes out of the cluster for good; refused while work has any of them."""

    @extend_schema(operation_id="racks_remove", request=Reason, responses={200: Either(RemovedRack, Rehearsal)}, parameters=WRITING)
    def post(self, request: Request, cluster: str, rack: str) -> Response:
        said = checked(Reason, request.data)
        done = give(request, cluster, RemoveRack(rack=rack, by=caller_of(request).name, reason=said["reason"]))
        return answer(done if isinstance(done, Rehearsal) else RemovedRack(rack, len(done.events) - 1))
