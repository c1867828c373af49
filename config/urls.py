"""Where each part of the site answers."""

from __future__ import annotations

from django.urls import include, path

handler500 = "frontend.pages.trouble.failed"

urlpatterns = [
    path("api/v1/", include("frontend.api.urls")),
    path("", include("frontend.urls")),
]
