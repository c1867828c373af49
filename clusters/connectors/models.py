"""Tables of the connectors: who drives which fleet, and when somebody last looked at it. Neither is truth: both may be lost."""

from __future__ import annotations

from django.db import models

from clusters.eventlog.facts import MAX_CLUSTER


class FleetLease(models.Model):
    """Exactly one process drives a fleet: the holder of its highest token."""

    cluster = models.CharField(max_length=MAX_CLUSTER, primary_key=True)
    holder = models.CharField(max_length=128)
    token = models.BigIntegerField()  # rises with each new holder
    expires = models.BigIntegerField()  # wall time, microseconds; from then on others may take over
    lag = models.BigIntegerField(default=0)  # wall microseconds that the fleet was behind its clock when last renewed

    def __str__(self) -> str:
        return f"{self.cluster} #{self.token} {self.holder}"


class Presence(models.Model):
    """When a browser last showed the cluster."""

    cluster = models.CharField(max_length=MAX_CLUSTER, primary_key=True)
    seen = models.BigIntegerField()  # wall time, microseconds

    def __str__(self) -> str:
        return self.cluster
