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
