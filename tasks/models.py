"""When each part of an installation last did its work. It is no truth: losing it loses nothing but this knowledge."""

from __future__ import annotations

from django.db import models


class Heartbeat(models.Model):
    """A sign of life of one part."""

    part = models.CharField(max_length=100, primary_key=True)
    at = models.BigIntegerField()  # wall time, microseconds

    def __str__(self) -> str:
        return f"{self.part} at {self.at}"
