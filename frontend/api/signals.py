"""Signals: pushed as plain JSON, or in the formats of those who watch nodes."""

from __future__ import annotations

from typing import Any

import msgspec
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.domain.signals import SignalKind, SignalScope
from clusters.eventlog.log import wall_now
from clusters.signals.formats import FORMATS
from clusters.signals.heartbeats import beats_note
from clusters.signals.intake import MAX_BATCH, product_of, signals_receive, source_of
from clusters.signals.model import MAX_CODE, MAX_EVIDENCE, MAX_TEXT, Parsed, Signal
from clusters.signals.plain import read_plain
from frontend.accounts.access import caller_of
from frontend.api.base import ApiView, answer
from frontend.api.errors import FieldError, Invalid
from frontend.api.fields import Input, OneOf, Several, SeveralInputs, Shaped, Switch, Text, WholeNumber, checked
from frontend.api.nodes import MOST_NAME
from frontend.api.parsers import ManyJSONParser
from frontend.selectors.clusters import reading
from frontend.selectors.signals import FetchedSource, HeardSignal, signal_sources, signals_heard

MAX_FEED = 200
COUNTED = ("received", "new", "repeated", "unchanged", "unknown_nodes", "unknown_codes")
LAST_NUMBER = 2**53 - 1
FEED = r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}"
INSTANT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)"


class UnreadPart(msgspec.Struct, frozen=True):
    """A part of the body that is no signal, and why."""

    position: str
    message: str


class SignalCounts(msgspec.Struct, frozen=True):
    """What became of the signals."""

    received: int
    new: int  # in the log now
    repeated: int  # sent before, under the same id
    unchanged: int  # said nothing that was not known
    unknown_nodes: int  # of nodes that are not in the inventory
    nodes_not_known: list[str]  # the first of them
    unknown_codes: int  # whose code nobody knows, and which do not say how bad they are: taken as soft
    codes_not_known: list[str]  # the first of them
    problems: list[UnreadPart]


class SignalInput(Input):
    """What is said of a node."""

    node = Text(MOST_NAME, least=1)
    code = Text(MAX_CODE, least=1, help_text="what happened; xid:79 and sxid:20034 mean what the catalogue says of them")
    kind = OneOf(SignalKind, default="", help_text="how bad it is; left out, the catalogue says it, and what it does not know is soft")
    scope = OneOf(SignalScope, default="", help_text="whether the cause can be shared with other nodes")
    check = Text(MAX_CODE, default="", help_text="what was looked at (else the code): a recovery takes back what was said of the same")
    component = Text(MAX_CODE, default="", help_text="the GPU, link or switch; none for the node as a whole")
    text = Text(MAX_TEXT, default="")
    action = Text(MAX_CODE, default="", help_text="what is to be done about it")
    lasting = Switch(default=False, help_text="holds until it is taken back by a signal of kind recovered")
    evidence = Several(Text(MAX_TEXT), MAX_EVIDENCE, default=list)
    occurred_at = Shaped(INSTANT, "give a time with its zone, such as 2026-11-20T07:58:12Z", help_text="left out: now")
    id = Text(MAX_TEXT, default="", help_text="the same id again is the same signal")
    seq = WholeNumber(0, LAST_NUMBER, required=False, allow_null=True, help_text="a counter of the feed: give it always, or never")


class SignalsInput(Input):
    """Signals of one feed."""

    feed = Shaped(FEED, "give 1 to 200 letters, digits, or any of . _ / -", help_text="who says so, beside the owner of the token")
    signals = SeveralInputs(SignalInput(), 1, MAX_BATCH)


class FormatQuery(Input):
    """Whose they are."""

    feed = Shaped(FEED, "give 1 to 200 letters, digits, or any of . _ / -", help_text="the format, if left out")


class DocumentParser(ManyJSONParser):
    """A thousand nodes as Kubernetes prints them."""

    most_bytes = 8 * 1024 * 1024


class SignalsView(ApiView):
    """Signals as plain JSON: all of them are taken, or none."""

    parser_classes = [ManyJSONParser]

    @extend_schema(
        operation_id="signals_push",
        request=SignalsInput,
        responses=SignalCounts,
        description="All of them are taken, or none: what is wrong is named by its place, as in signals[3].node.",
    )
    def post(self, request: Request, cluster: str) -> Response:
        values = checked(SignalsInput, request.data)
        signals, wrong = read_plain(values["signals"], product_of(cluster))
        if wrong:
            raise Invalid([FieldError(field, value, expected) for field, value, expected in wrong])
        return _receive(request, cluster, values["feed"], signals)


class NodeSignals(msgspec.Struct, frozen=True):
    """What a node remembers of signals, the latest first."""

    items: list[HeardSignal]


class SignalSources(msgspec.Struct, frozen=True):
    """The sources by name."""

    items: list[FetchedSource]


class NodeSignalsView(ApiView):
    """The signals that verdicts on a node rest on."""

    @extend_schema(operation_id="node_signals_list", responses=NodeSignals)
    def get(self, request: Request, cluster: str, node: str) -> Response:
        with reading(cluster) as state:
            return answer(NodeSignals(signals_heard(state, node)))


class SignalSourcesView(ApiView):
    """Where signals are fetched from."""

    @extend_schema(operation_id="signal_sources_list", responses=SignalSources)
    def get(self, request: Request, cluster: str) -> Response:
        with reading(cluster):  # there is such a cluster
            return answer(SignalSources(signal_sources(cluster)))


class SignalFormatView(ApiView):
    """Signals as Alertmanager, NVSentinel, Kubernetes or Slurm tell them."""

    parser_classes = [DocumentParser]

    @extend_schema(
        operation_id="signals_push_format",
        parameters=[FormatQuery],
        request={"application/json": OpenApiTypes.OBJECT},
        responses=SignalCounts,
        description=(
            "The document as its program sends or prints it. What is no signal in it is told in `problems` and the rest is taken; "
            "a document in which nothing can be read is refused."
        ),
    )
    def post(self, request: Request, cluster: str, form: str) -> Response:
        query = checked(FormatQuery, request.query_params)
        parsed = FORMATS[form](request.data, product_of(cluster))
        if parsed.problems and not parsed.signals:
            raise Invalid([FieldError(problem.position, None, problem.message) for problem in parsed.problems])
        return _receive(request, cluster, query["feed"] or form, parsed)


def _receive(request: Request, cluster: str, feed: str, parsed: Parsed | tuple[Signal, ...]) -> Response:
    signals, problems = (parsed.signals, parsed.problems) if isinstance(parsed, Parsed) else (parsed, ())
    source = source_of(caller_of(request).name, feed)
    done = signals_receive(cluster=cluster, source=source, signals=signals)
    beats_note(cluster, signals, wall_now())
    counts: dict[str, Any] = {field: getattr(done, field) for field in COUNTED}
    told = [UnreadPart(problem.position, problem.message) for problem in problems]
    return answer(SignalCounts(**counts, nodes_not_known=list(done.named), codes_not_known=list(done.codes), problems=told))
