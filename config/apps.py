"""The project itself as an app: its system checks, its Celery application and `serve`."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class ProjectConfig(AppConfig):
    """Registers the checks, and the Celery application before any task is sent."""

    name = "config"
    verbose_name = "Slicekeeper"

    def ready(self) -> None:
        import_module("config.checks")
        import_module("config.celery")
