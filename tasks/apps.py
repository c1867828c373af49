"""Thin Celery tasks and the background runners that wake them."""

from __future__ import annotations

from django.apps import AppConfig


class TasksConfig(AppConfig):
    """Registers task commands."""

    name = "tasks"
