"""A lease on a fleet, with a fencing token.

The lease's time only says when another may take over; what keeps two drivers apart is the token. Every append of a driver looks, in its own
transaction, whether the token is still the highest: one that was paused past its lease finds out that way, however late it wakes up.
"""

from __future__ import annotations

from collections.abc import Callable

from django.db import IntegrityError, transaction
from django.db.models import F

from clusters.connectors.models import FleetLease
from clusters.domain.errors import FencedOut
from clusters.domain.ids import SECOND, Duration, Instant
from clusters.eventlog.log import wall_now

#: Long enough to survive a busy moment, short enough that a crash stops no fleet for long.
TERM = 6 * SECOND

#: A lease that lasts so many terms was given before the wall clock was set back; its holder, if it lives, renews it by the new time.
LONGEST = 2


class Lease:
    """One process's claim on one fleet."""

    def __init__(self, cluster: str, holder: str, *, term: Duration = TERM, wall: Callable[[], Instant] = wall_now) -> None:
        self._cluster = cluster
        self._holder = holder
        self._term = term
        self._wall = wall
        self._token = 0
        self._renewed: Instant = 0

    def acquire(self) -> bool:
        """Take the lease unless another holds it; taking it fences out whoever had it."""
        now = self._wall()
        try:
            with transaction.atomic():
                row = FleetLease.objects.select_for_update().filter(pk=self._cluster).first()
                if row is not None and now < row.expires <= now + LONGEST * self._term and row.holder != self._holder:
                    return False
                self._token = row.token + 1 if row is not None else 1
                values = {"holder": self._holder, "token": self._token, "expires": now + self._term, "lag": 0}
                if row is None:
                    FleetLease.objects.create(cluster=self._cluster, **values)
                else:
                    FleetLease.objects.filter(pk=self._cluster).update(**values)
        except IntegrityError:  # somebody made the row in the meantime
            return False
        self._renewed = now
        return True

    def check(self) -> None:
        """In the transaction of an append: keep others from taking over until it ends; raises FencedOut if one has."""
        token = FleetLease.objects.select_for_update().filter(pk=self._cluster).values_list("token", flat=True).first()
        if token != self._token:
            raise self._fenced_out()

    def keep(self, lag: Duration) -> None:
        """Renew the lease when a third of its term has passed; raises FencedOut if another has it."""
        now = self._wall()
        if 0 <= now - self._renewed < self._term // 3:
            return
        mine = FleetLease.objects.filter(pk=self._cluster, token=self._token)
        if not mine.update(expires=now + self._term, lag=lag):
            raise self._fenced_out()
        self._renewed = now

    def release(self) -> None:
        """Let others take over at once."""
        FleetLease.objects.filter(pk=self._cluster, token=self._token).update(expires=F("expires") - self._term, lag=0)

    def _fenced_out(self) -> FencedOut:
        return FencedOut(f"another process drives the fleet of cluster {self._cluster!r} now; {self._holder} (token {self._token}) stops")


def driven_at(cluster: str, wall: Instant) -> FleetLease | None:
    """The lease of the process that drives the fleet, if one does."""
    return FleetLease.objects.filter(pk=cluster, expires__gt=wall, expires__lte=wall + LONGEST * TERM).first()
