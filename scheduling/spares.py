"""Spares of a cluster: counted from the live state whenever asked; advice on domains that have too few is looked for in the background.

Advice is a look into the past by the time it is read. Readers get it for domains that still lack spares only, with the position it was
found at; whoever acts on it has it decided anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from clusters.domain.clock import cluster_now
from clusters.domain.ids import Instant
from clusters.eventlog.live import live
from clusters.eventlog.log import wall_now
from clusters.eventlog.models import Cluster
from scheduling.domain.spares import DomainSpares, Restoration, domain_spares, restorations
from scheduling.models import SparesReview

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[Restoration]).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """Advice found in the background."""

    seq: int  # it read the state after this position
    at: Instant
    restorations: tuple[Restoration, ...]  # the domain that lacked most first


@dataclass(frozen=True, slots=True, kw_only=True)
class Spares:
    """A cluster's spares."""

    seq: int
    domains: tuple[DomainSpares, ...]  # that should have spares, in index order
    lent: int  # nodes of their spares on which other work runs
    review: Review | None  # None: nobody has looked yet

    @property
    def below(self) -> tuple[DomainSpares, ...]:
        """Domains below target, the one that lacks most first."""
        return tuple(sorted((domain for domain in self.domains if domain.missing), key=lambda domain: -domain.missing))


def spares_review(cluster: str) -> bool:
    """Look for what would restore the domains below target and keep the answer; whether there was anything new. Raises UnknownCluster."""
    followed = live(cluster)
    with followed.reading() as state:
        seq, epoch = state.seq, followed.position.epoch
        if SparesReview.objects.filter(epoch=epoch, seq=seq).exists():
            return False
        now = cluster_now(state, wall_now())
        found = restorations(state, now)
    SparesReview.objects.update_or_create(epoch=epoch, defaults={"seq": seq, "reviewed_at": now, "restorations": _encode(found).decode()})
    return True


def spares_forget_removed() -> int:
    """Drop the reviews of logs that are no longer there; returns how many."""
    return SparesReview.objects.exclude(epoch__in=Cluster.objects.values("epoch")).delete()[0]


def spares_get(cluster: str) -> Spares:
    """What there is now, and the advice for those that still lack some; raises UnknownCluster."""
    followed = live(cluster)
    with followed.reading() as state:
        domains = tuple(domain_spares(state))
        lent = len(state.lent)
        seq, epoch = state.seq, followed.position.epoch
    lacking = {domain.domain for domain in domains if domain.missing}
    kept = SparesReview.objects.filter(epoch=epoch).first()
    if kept is None:
        return Spares(seq=seq, domains=domains, lent=lent, review=None)
    found = tuple(restoration for restoration in _decode(kept.restorations) if restoration.domain in lacking)
    return Spares(seq=seq, domains=domains, lent=lent, review=Review(seq=kept.seq, at=kept.reviewed_at, restorations=found))
