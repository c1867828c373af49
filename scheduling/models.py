"""What background work of this app keeps for pages and the API. All of it can be made again from the log."""

from __future__ import annotations

from django.db import models


class SparesReview(models.Model):
    """What would restore the domains of a cluster that were below their target of spares, as of one position."""

    epoch = models.CharField(max_length=32, primary_key=True)  # of the log: a cluster made anew starts without
    seq = models.BigIntegerField()
    reviewed_at = models.BigIntegerField()  # cluster time
    restorations = models.TextField()  # JSON

    def __str__(self) -> str:
        return f"{self.epoch} at {self.seq}"


class PlanSearch(models.Model):
    """Searches for plans that make room: whether one goes on, and what was tried last."""

    epoch = models.CharField(max_length=32, primary_key=True)  # of the log
    until = models.BigIntegerField()  # wall time; a search goes on, and is taken for lost after that
    tried = models.TextField()  # JSON: job -> position and wall time of the last search for it
    vain = models.TextField(default="{}")  # JSON: job -> why the last search for it found nothing

    def __str__(self) -> str:
        return f"{self.epoch} until {self.until}"
