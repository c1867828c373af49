"""Where each part of the API answers, below /api/v1/."""

from __future__ import annotations

from django.urls import URLPattern

app_name = "api"
urlpatterns: list[URLPattern] = []
