"""Inventories: upload one, take one out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any, cast

import msgspec
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.inventory.labels import MAX_LABEL_KEY
from clusters.inventory.service import inventory_export, inventory_import
from frontend.api.base import ApiView, answer
from frontend.api.commands import PlannedEvent, planned
from frontend.api.errors import FieldError, Invalid, TooLarge
from frontend.api.fields import Input, Switch, Text, checked
from frontend.api.idempotency import IDEMPOTENT, idempotency_key

MOST_BYTES = 16 * 1024 * 1024
#: Of the other parts of a form, in bytes.
MOST_OVERHEAD = 4096
#: Of the events that a dry run answers with; it counts them all.
MOST_PLANNED = 500
FILE = "file"
TOPOLOGY = "topology"
UNNAMED = "upload"


class InventoryProblem(msgspec.Struct, frozen=True):
    """Something that is wrong with the file, and does not keep it from being imported."""

    position: str
    name: str
    message: str


class InventoryReport(msgspec.Struct, frozen=True):
    """What an import found and did."""

    racks: int
    nodes: int
    events: int  # appended, or to be appended by a dry run
    states: dict[str, int]  # nodes by condition
    problems: list[InventoryProblem]
    planned: list[PlannedEvent] = []  # of a dry run: the first of the events that would be appended


class RawParser(BaseParser):
    """The body is the file."""

    media_type = "*/*"

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> dict[str, bytes]:
        body = stream.read(MOST_BYTES + 1)
        if len(body) > MOST_BYTES:
            raise too_large()
        return {FILE: body} if body else {}


class ImportQuery(Input):
    """How the file is to be read."""

    rack_label = Text(MAX_LABEL_KEY, default="", help_text="the Kubernetes label that names the rack")
    domain_label = Text(MAX_LABEL_KEY, default="", help_text="the Kubernetes label that names the domain")
    create_cluster = Switch(default=False, help_text="make the cluster if there is none of that name")
    dry_run = Switch(default=False, help_text="say what would change, and change nothing")


class InventoryView(ApiView):
    """The inventory of a cluster."""

    parser_classes = [MultiPartParser, RawParser]

    @extend_schema(operation_id="inventory_export", responses={(200, "application/yaml"): OpenApiTypes.OBJECT})
    def get(self, request: Request, cluster: str) -> HttpResponse:
        text = inventory_export(cluster)
        headers = {"Content-Disposition": f'attachment; filename="{cluster}.yaml"'}
        return HttpResponse(text, content_type="application/yaml; charset=utf-8", headers=headers)

    @extend_schema(
        operation_id="inventory_import",
        request={
            "multipart/form-data": {
                "type": "object",
                "properties": {
                    FILE: {"type": "string", "format": "binary"},
                    TOPOLOGY: {"type": "string", "format": "binary", "description": "Slurm's topology.yaml or topology.conf"},
                },
                "required": [FILE],
            },
            "application/yaml": OpenApiTypes.BINARY,
            "application/json": OpenApiTypes.BINARY,
        },
        parameters=[ImportQuery, IDEMPOTENT],
        responses={200: InventoryReport},
    )
    def post(self, request: Request, cluster: str) -> Response:
        query = checked(ImportQuery, request.query_params)
        content, filename = _file(request)
        report = inventory_import(
            cluster=cluster,
            content=content,
            filename=filename,
            rack_label=query["rack_label"] or None,
            domain_label=query["domain_label"] or None,
            topology=_topology(request),
            by=request.user.get_username(),
            create=query["create_cluster"],
            dry_run=query["dry_run"],
            request_id=idempotency_key(request),
        )
        found = msgspec.convert(report, InventoryReport, from_attributes=True)
        first = report.facts[:MOST_PLANNED] if query["dry_run"] else ()
        return answer(msgspec.structs.replace(found, planned=[planned(fact) for fact in first]))


def _file(request: Request) -> tuple[bytes, str]:
    """The content and the name of the file."""
    if int(request.META.get("CONTENT_LENGTH") or 0) > MOST_BYTES + MOST_OVERHEAD:
        raise too_large()
    sent = cast(dict[str, object], request.data).get(FILE)
    if isinstance(sent, UploadedFile) and (sent.size or 0) <= MOST_BYTES:
        return sent.read(), sent.name or UNNAMED
    if isinstance(sent, UploadedFile):
        raise too_large()
    if not isinstance(sent, bytes):
        raise Invalid([FieldError(FILE, None, f"send the inventory as the file {FILE!r} of the form, or as the whole body")])
    return sent, UNNAMED


def _topology(request: Request) -> bytes | None:
    """The content of Slurm's topology file, which only a form can bring beside the nodes."""
    sent = cast(dict[str, object], request.data).get(TOPOLOGY)
    if sent is None:
        return None
    if not isinstance(sent, UploadedFile):
        raise Invalid([FieldError(TOPOLOGY, None, f"send Slurm's topology file as the file {TOPOLOGY!r} of the form, or leave it out")])
    content: bytes = sent.read()
    return content


def too_large() -> TooLarge:
    """More than any inventory of ours."""
    return TooLarge(f"The file has more than {MOST_BYTES // 2**20} MiB; import it with the command import_cluster, or split it")
