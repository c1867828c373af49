"""When nodes fail, and how long repairs take: published distributions, drawn by `chance`.

Failures come to the fleet in bursts, as measured fleets show: the gaps between them follow a hyperexponential distribution (two phases of
equal weight in time) with the mean that the rate and the number of nodes give. The first gap is drawn from its stationary form, so the
rate is right from the first day. A few nodes ("lemons") take a fixed share of the failures. Which node the k-th failure hits, and when,
depends on the seed and k alone; a failure that hits a node that is down already changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import accumulate

from clusters.connectors.simulated.chance import exponential, lognormal, uniform
from clusters.connectors.simulated.options import REPAIR_FLAT, FleetOptions
from clusters.domain.ids import DAY, HOUR, MINUTE, Duration, Instant

#: (share, median in minutes, sigma): reset or reboot; hands on (reseat, field diagnosis); exchange of a tray. Mean 21 h.
REPAIR_MIXTURE: tuple[tuple[float, float, float], ...] = ((0.60, 60, 1.28), (0.25, 600, 0.80), (0.15, 5760, 0.50))
_UPTO = tuple(accumulate(share for share, _, _ in REPAIR_MIXTURE))


def repair_time(options: FleetOptions, node: str, failures: int) -> Duration:
    """How long the repair after the node's failure number `failures` takes, from failed to in service."""
    u = uniform(options.seed, "repair", node, failures)
    if options.repair_model == REPAIR_FLAT:
        return round(exponential(u, options.repair_mean_h * HOUR))
    kind = uniform(options.seed, "repair kind", node, failures)
    _, median, sigma = next(part for part, upto in zip(REPAIR_MIXTURE, _UPTO, strict=True) if kind < upto or upto is _UPTO[-1])
    return round(lognormal(u, median, sigma) * MINUTE)


def is_unmended(options: FleetOptions, node: str, failures: int) -> bool:
    """Whether the repair after the node's failure number `failures` left the fault in it."""
    return failures > 0 and uniform(options.seed, "bad repair", node, failures) < options.bad_repairs


class FaultProcess:
    """The fleet's failures, one after the other."""

    def __init__(self, options: FleetOptions, nodes: Iterable[str], base: Instant) -> None:
        self._options = options
        ranked = sorted(nodes, key=lambda node: (uniform(options.seed, "lemon", node), node))
        lemons = round(options.lemon_nodes * len(ranked))
        self.lemons = tuple(ranked[:lemons])
        self._others = tuple(ranked[lemons:])
        rate = options.failures_per_node_day * len(ranked)
        self._mean_gap = DAY / rate if rate else None
        self._number = 0
        self.at: Instant | None = None  # of the next failure; None: never
        if self._mean_gap is not None:
            self.at = base + self._gap()

    @property
    def node(self) -> str:
        """The node that the next failure hits."""
        lemon = uniform(self._options.seed, "which", self._number) < self._options.lemon_share
        nodes = self.lemons if self.lemons and (lemon or not self._others) else self._others
        return nodes[int(uniform(self._options.seed, "node", self._number) * len(nodes))]

    def advance(self) -> None:
        """The next failure has happened: on to the one after it."""
        if self.at is not None:
            self._number += 1
            self.at += self._gap()

    def skip_to(self, instant: Instant) -> None:
        """All failures up to `instant` have happened."""
        while self.at is not None and self.at <= instant:
            self.advance()

    def _gap(self) -> Duration:
        """Balanced means: the rare long phase and the frequent short one each fill half of the time."""
        square = self._options.failure_cv**2
        frequent = (1 + math.sqrt((square - 1) / (square + 1))) / 2
        first = self._number == 0
        short = uniform(self._options.seed, "phase", self._number) < (0.5 if first else frequent)
        phase = frequent if short else 1 - frequent
        mean = (self._mean_gap or 0) / (2 * phase)
        return round(exponential(uniform(self._options.seed, "gap", self._number), mean))
