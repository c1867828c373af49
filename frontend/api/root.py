"""The schema, and the answer where nothing is."""

from __future__ import annotations

from typing import Never

from django.http import Http404
from django.urls import resolve
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.exceptions import NotFound
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request

from frontend.api.base import LOGINS, ApiView


class SchemaView(SpectacularJSONAPIView):
    """The OpenAPI schema of everything here."""

    authentication_classes = LOGINS
    permission_classes = [IsAuthenticated]


@extend_schema(exclude=True)
class NothingHereView(ApiView):
    """Every other path: a problem, not a page."""

    def initial(self, request: Request, *args: object, **kwargs: object) -> Never:
        super().initial(request, *args, **kwargs)
        path = request.path
        if not path.endswith("/") and resolve(f"{path}/").url_name != "nothing":
            raise NotFound(f"There is nothing at this path; paths end with a slash: {path}/")
        raise Http404
