"""How long each domain had how many nodes unavailable: all that p and rho need of a log, in a few numbers a domain.

A history is fed with changes, in the order of the log: `observe` says what a domain has from now on, `interrupted` counts a failure. A
change that is dated before the last one counts from when it was told, since time never runs back. A failure at the very moment from which a
domain is watched is how the domain was found, and no interruption. What it has seen so far is an `Observed`, which can as well be built
from the rows of a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from clusters.domain.errors import InvalidRequest
from clusters.domain.ids import Duration, Instant


class Level(NamedTuple):
    """What a domain has for a while."""

    nodes: int
    unavailable: int  # of them

    @property
    def is_whole(self) -> bool:
        """Whether all its nodes are away; that a lone node is says nothing of correlation."""
        return self.unavailable == self.nodes > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainTimes:
    """What was seen of one domain."""

    spells: Mapping[Level, Duration]  # how long it had each level
    interruptions: int = 0  # failures of its nodes
    whole_outages: int = 0  # times that all its nodes, two or more, became unavailable together

    @property
    def node_time(self) -> Duration:
        """Nodes times the time they were watched."""
        return sum(level.nodes * time for level, time in self.spells.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What was seen of all domains."""

    since: Instant | None  # None: nothing was seen
    until: Instant
    domains: Mapping[str, DomainTimes]

    @property
    def span(self) -> Duration:
        """How long was watched."""
        return 0 if self.since is None else self.until - self.since


class _Watched:
    """One domain as it goes."""

    __slots__ = ("first", "interruptions", "level", "since", "spells", "whole_outages")

    def __init__(self, at: Instant) -> None:
        self.level = Level(0, 0)
        self.first = self.since = at
        self.spells: Counter[Level] = Counter()
        self.interruptions = 0
        self.whole_outages = 0

    def spells_until(self, now: Instant) -> dict[Level, Duration]:
        """Each level it had nodes at, with its time up to now."""
        spells = self.spells.copy()
        spells[self.level] += now - self.since
        return {level: time for level, time in spells.items() if time > 0 and level.nodes > 0}


class History:
    """Collects what happened."""

    def __init__(self) -> None:
        self._domains: dict[str, _Watched] = {}
        self._since: Instant | None = None
        self._now: Instant = 0

    def observe(self, at: Instant, domain: str, nodes: int, unavailable: int) -> None:
        """From `at` on the domain has so many nodes, so many of them unavailable; raises InvalidRequest."""
        if not 0 <= unavailable <= nodes:
            raise InvalidRequest("unavailable", unavailable, f"give a whole number from 0 to the domain's nodes ({nodes})")
        now = self._advance(at)
        watched = self._watched(domain)
        if watched.level == (nodes, unavailable):
            return
        level = Level(nodes, unavailable)
        watched.whole_outages += level.is_whole and not watched.level.is_whole
        watched.spells[watched.level] += now - watched.since
        watched.since = now
        watched.level = level

    def interrupted(self, at: Instant, domain: str) -> None:
        """A node of the domain failed."""
        now = self._advance(at)
        watched = self._watched(domain)
        watched.interruptions += now > watched.first

    def observed(self, now: Instant) -> Observed:
        """All that was seen up to now; collecting goes on."""
        until = max(now, self._now)
        return Observed(
            since=self._since,
            until=until,
            domains={
                name: DomainTimes(
                    spells=watched.spells_until(until), interruptions=watched.interruptions, whole_outages=watched.whole_outages
                )
                for name, watched in self._domains.items()
            },
        )

    def _advance(self, at: Instant) -> Instant:
        if self._since is None:
            self._since = self._now = at
        self._now = max(self._now, at)
        return self._now

    def _watched(self, domain: str) -> _Watched:
        return self._domains.setdefault(domain, _Watched(self._now))
