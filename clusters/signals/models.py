"""Where signals are fetched from, and when agents were last heard.

What is kept of a source beside its address can be lost: then one scrape is a first one again.
"""

from __future__ import annotations

from django.db import models

from clusters.eventlog.facts import MAX_CLUSTER

MAX_NAME = 40
MAX_URL = 500
MAX_ERROR = 300
MAX_NODE = 253


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


class AgentBeat(models.Model):
    """The last sign of life of the agent on a node."""

    cluster = models.CharField(max_length=MAX_CLUSTER)
    node = models.CharField(max_length=MAX_NODE)
    at = models.BigIntegerField()  # wall time, microseconds
    every_s = models.FloatField()  # until the next one, as the agent says
    silent = models.BooleanField(default=False)  # the node was reported out of reach for it

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "node"], name="agent_beat_node_unique")]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.node}"
