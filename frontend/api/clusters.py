"""Clusters and their snapshots."""

from __future__ import annotations

import msgspec
from django.http import HttpResponse
from django.utils.cache import patch_vary_headers
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from frontend.accounts.access import caller_of
from frontend.api.base import ApiView, answer
from frontend.live.frames import Snapshot
from frontend.live.snapshots import snapshots_of
from frontend.selectors.clusters import ClusterSummary, cluster_names, cluster_summary


class Clusters(msgspec.Struct, frozen=True):
    """All clusters."""

    items: list[ClusterSummary]


class ClusterListView(ApiView):
    """All clusters."""

    @extend_schema(operation_id="clusters_list", responses=Clusters)
    def get(self, request: Request) -> Response:
        seen = filter(caller_of(request).sees, cluster_names())
        return answer(Clusters([cluster_summary(name) for name in seen]))


class ClusterView(ApiView):
    """One cluster in figures."""

    @extend_schema(operation_id="clusters_get", responses=ClusterSummary)
    def get(self, request: Request, cluster: str) -> Response:
        return answer(cluster_summary(cluster))


class SnapshotView(ApiView):
    """Everything the map shows, at one position of the log."""

    @extend_schema(
        operation_id="clusters_snapshot",
        responses={200: Snapshot, 304: None},
        parameters=[OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="the ETag of the snapshot you have")],
    )
    def get(self, request: Request, cluster: str) -> HttpResponse:
        snapshot = snapshots_of(cluster).latest()
        if request.headers.get("If-None-Match") == snapshot.etag:
            response = HttpResponse(status=304)
        elif "gzip" in request.headers.get("Accept-Encoding", ""):
            response = HttpResponse(snapshot.gzipped, content_type="application/json", headers={"Content-Encoding": "gzip"})
        else:
            response = HttpResponse(snapshot.body, content_type="application/json")
        response["ETag"] = snapshot.etag
        response["Cache-Control"] = "private, no-cache"
        patch_vary_headers(response, ("Accept-Encoding", "Cookie"))
        return response
