"""Where signals are fetched from. What is kept of a source beside its address can be lost: then one scrape is a first one again."""

from __future__ import annotations

from django.db import models

from clusters.eventlog.facts import MAX_CLUSTER

MAX_NAME = 40
MAX_URL = 500
MAX_ERROR = 300


class SignalSource(models.Model):
    """One address that is asked every so often, in one format."""

    cluster = models.CharField(max_length=MAX_CLUSTER)
    name = models.CharField(max_length=MAX_NAME)
    kind = models.CharField(max_length=20)  # a key of clusters.signals.polling.KINDS
    url = models.CharField(max_length=MAX_URL)
    every_s = models.PositiveIntegerField()
    enabled = models.BooleanField(default=True)
    due_at = models.BigIntegerField(default=0)  # wall time, microseconds
    asked_at = models.BigIntegerField(null=True)  # when it was last asked
    answered_at = models.BigIntegerField(null=True)  # when it last gave an answer that could be read
    error = models.CharField(max_length=MAX_ERROR, blank=True)  # why not, if it did not the last time
    told = models.CharField(max_length=MAX_ERROR, blank=True)  # what became of the last answer
    kept = models.JSONField(null=True)  # of the last answer, what the next is compared with

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="signal_source_name_unique")]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.name}"
