"""What people and programs see: pages, live updates and the API."""

from __future__ import annotations

from django.apps import AppConfig


class FrontendConfig(AppConfig):
    """Registers templates and static files."""

    name = "frontend"
