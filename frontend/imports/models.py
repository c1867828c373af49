"""Inventories that somebody has uploaded and not applied yet."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from clusters.eventlog.facts import MAX_CLUSTER
from clusters.inventory.labels import MAX_LABEL_KEY


class Upload(models.Model):
    """One upload, kept between its preview and its application; its user's only, and for an hour."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    cluster = models.CharField(max_length=MAX_CLUSTER)
    filename = models.CharField(max_length=255)
    content = models.BinaryField()  # packed
    topology_name = models.CharField(max_length=255, blank=True)
    topology = models.BinaryField(null=True)  # packed; null: no such file
    rack_label = models.CharField(max_length=MAX_LABEL_KEY, blank=True)
    domain_label = models.CharField(max_length=MAX_LABEL_KEY, blank=True)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.filename} for {self.cluster}, until {self.expires_at:%Y-%m-%d %H:%M}"
