"""Clusters and their snapshots."""

from __future__ import annotations

import msgspec
from django.http import HttpResponse
from django.utils.cache import patch_vary_headers
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.eventlog.facts import MAX_CLUSTER
from frontend.accounts.access import caller_of
from frontend.api.base import ApiView, answer
from frontend.api.fields import Input, Text, WholeNumber, checked
from frontend.live.frames import Snapshot
from frontend.live.snapshots import snapshots_of
from frontend.selectors.clusters import ClusterSummary, cluster_names, cluster_summary, readable_summaries
from frontend.selectors.paging import first_of

MOST_CLUSTERS = 100


class Clusters(msgspec.Struct, frozen=True):
    """Some clusters, by name."""

    items: list[ClusterSummary]
    unreadable: list[str]  # clusters of this page whose log this version cannot read
    next: str | None  # give this as `after`


class ClustersQuery(Input):
    """Which clusters."""

    after = Text(MAX_CLUSTER, default="", help_text="the last cluster of the page before")
    limit = WholeNumber(1, MOST_CLUSTERS, default=MOST_CLUSTERS)


class ClusterListView(ApiView):
    """The clusters that the caller may see."""

    @extend_schema(operation_id="clusters_list", parameters=[ClustersQuery], responses=Clusters)
    def get(self, request: Request) -> Response:
        query = checked(ClustersQuery, request.query_params)
        seen = (name for name in cluster_names() if caller_of(request).sees(name) and name > query["after"])
        names, more = first_of(seen, query["limit"])
        return answer(Clusters(*readable_summaries(names), names[-1] if more else None))


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
