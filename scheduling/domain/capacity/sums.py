"""Time integrals over what a domain had: additive, so that a domain can be left out by subtraction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from scheduling.domain.capacity.history import DomainTimes, Observed
from scheduling.domain.capacity.model import Sizes, fill


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Microseconds times what is counted, over one domain or several."""

    domains: float = 0.0
    nodes: float = 0.0
    away: float = 0.0  # unavailable nodes
    pairs: float = 0.0  # ordered pairs of nodes
    pairs_away: float = 0.0  # pairs of which both are unavailable
    whole: float = 0.0  # unavailable nodes while the whole domain is
    usable: float = 0.0  # nodes that slices could use
    full: float = 0.0  # nodes that slices could use if all were available

    def __add__(self, other: Sums) -> Sums:
        return Sums(**{name: getattr(self, name) + getattr(other, name) for name in _FIELDS})

    def __sub__(self, other: Sums) -> Sums:
        return Sums(**{name: getattr(self, name) - getattr(other, name) for name in _FIELDS})

    @property
    def share(self) -> float:
        """Unavailable node-time over node-time."""
        return self.away / self.nodes

    @property
    def varies(self) -> bool:
        """Whether some node-time was available and some was not."""
        return 0 < self.away < self.nodes

    @property
    def rho(self) -> float:
        """The pairwise correlation; 0 where nothing varies, since then there is none to see."""
        if not self.varies or not self.pairs:
            return 0.0
        share = self.share
        return (self.pairs_away / self.pairs - share * share) / (share * (1 - share))


_FIELDS = tuple(field.name for field in fields(Sums))


def domain_sums(observed: Observed, sizes: Sizes = (), *, whole: bool = True) -> list[Sums]:
    """The sums of each domain that was watched for any time; without its whole-domain outages if `whole` is False."""
    found = (_sums(times, sizes, whole) for times in observed.domains.values())
    return [sums for sums in found if sums.nodes]


def total(parts: Iterable[Sums]) -> Sums:
    """All together."""
    return sum(parts, Sums())


def _sums(times: DomainTimes, sizes: Sizes, keep_whole: bool) -> Sums:
    found = Sums()
    for level, time in times.spells.items():
        if level.is_whole and not keep_whole:
            continue
        nodes, away = level
        best = fill(nodes, sizes)
        found += Sums(
            domains=time,
            nodes=nodes * time,
            away=away * time,
            pairs=nodes * (nodes - 1) * time,
            pairs_away=away * (away - 1) * time,
            whole=away * time if level.is_whole else 0,
            usable=best[nodes - away] * time,
            full=best[nodes] * time,
        )
    return found
