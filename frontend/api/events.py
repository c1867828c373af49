"""The log itself, read in order."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.domain.events import PAYLOADS
from frontend.api.base import ApiView, answer
from frontend.api.fields import Input, OneOf, Text, WholeNumber, checked
from frontend.live.follow import MOST_SECONDS, nothing_yet
from frontend.selectors.events import EventPage, events_page

MOST_EVENTS = 1_000
MOST_SEQ = 10**18 - 1
MOST_SUBJECT = 253


class EventsQuery(Input):
    """Which events."""

    after = WholeNumber(0, MOST_SEQ, default=0, help_text="a position; 0 is the beginning")
    limit = WholeNumber(1, MOST_EVENTS, default=100)
    subject = Text(MOST_SUBJECT, default="", help_text="a job, node or rack")
    kind = OneOf(sorted(PAYLOADS), default="")
    wait = WholeNumber(0, MOST_SECONDS, default=0, help_text="seconds to wait for the next event where there is none yet")


class EventListView(ApiView):
    """Events behind a position, in order."""

    @extend_schema(operation_id="events_list", parameters=[EventsQuery], responses=EventPage)
    def get(self, request: Request, cluster: str) -> Response:
        query = checked(EventsQuery, request.query_params)
        wait = query.pop("wait")
        page = events_page(cluster, **query)
        if wait and not page.items:
            nothing_yet(request._request, cluster=cluster, reached=page.next, seconds=wait)
        return answer(page)
