"""Spares against target, and what would restore domains that have too few."""

from __future__ import annotations

import msgspec

from clusters.eventlog.live import live
from scheduling.domain.spares import Move, Restoration
from scheduling.domain.wording import in_gpu_hours
from scheduling.spares import Spares, spares_get


class SpareDomain(msgspec.Struct, frozen=True):
    """A domain that should have spares."""

    domain: str
    target: int  # nodes it should keep free
    present: int
    missing: int


class SpareMove(msgspec.Struct, frozen=True):
    """Restartable work that could run elsewhere; nobody moves it."""

    job: str
    name: str  # of the job; "" once it has ended
    slice: int
    nodes: list[str]  # that it has now
    domain: str  # where it would go
    to: list[str]  # nodes it would get
    gpu_hours: float  # done again: since its last checkpoint, as the books would charge


class SpareAdvice(msgspec.Struct, frozen=True):
    """What would bring a domain back to its target."""

    domain: str
    missing: int
    moves: list[SpareMove]
    gpu_hours: float
    reason: str  # why there are no moves


class ClusterSpares(msgspec.Struct, frozen=True):
    """A cluster's spares at one position."""

    seq: int
    target: int
    present: int
    missing: int
    lent: int  # nodes of their spares on which other work runs until a swap needs them
    domains: list[SpareDomain]  # in index order
    advice: list[SpareAdvice]  # for domains that lack some, the most first
    advice_seq: int | None  # the position that the advice was found at; null: nobody has looked yet
    advice_at_us: int | None

    @property
    def below(self) -> list[SpareDomain]:
        """Domains below target, the one that lacks most first."""
        return sorted((domain for domain in self.domains if domain.missing), key=lambda domain: -domain.missing)


def cluster_spares(cluster: str) -> ClusterSpares:
    """All about a cluster's spares; raises UnknownCluster."""
    found = spares_get(cluster)
    domains = [SpareDomain(one.domain, one.target, one.present, one.missing) for one in found.domains]
    review = found.review
    return ClusterSpares(
        seq=found.seq,
        target=sum(one.target for one in domains),
        present=sum(one.present for one in domains),
        missing=sum(one.missing for one in domains),
        lent=found.lent,
        domains=domains,
        advice=_advice(cluster, found),
        advice_seq=review.seq if review else None,
        advice_at_us=review.at if review else None,
    )


def _advice(cluster: str, found: Spares) -> list[SpareAdvice]:
    missing = {one.domain: one.missing for one in found.domains}
    with live(cluster).reading() as state:
        names = {job.id: job.request.name for job in state.jobs.values()}
    restorations: tuple[Restoration, ...] = found.review.restorations if found.review else ()
    return [
        SpareAdvice(
            domain=one.domain,
            missing=missing[one.domain],
            moves=[_move(move, names.get(move.job, "")) for move in one.moves],
            gpu_hours=in_gpu_hours(one.cost),
            reason=one.reason,
        )
        for one in restorations
    ]


def _move(move: Move, name: str) -> SpareMove:
    return SpareMove(move.job, name, move.slice, list(move.nodes), move.to.domain, list(move.to.nodes), in_gpu_hours(move.cost))
