"""What should run where: queue, placement, spares and recovery."""

from __future__ import annotations

from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    """Registers the scheduling tables and commands."""

    name = "scheduling"
