"""What exists and what happened: inventory, events and the state they fold into."""

from __future__ import annotations

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    """Registers the event log's tables."""

    name = "clusters"
