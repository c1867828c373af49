"""Every page: one namespace, so that a template names pages without knowing which part answers."""

from __future__ import annotations

from django.urls import include, path

app_name = "frontend"
urlpatterns = [
    path("", include("frontend.accounts.urls")),
    path("", include("frontend.pages.urls")),
]
