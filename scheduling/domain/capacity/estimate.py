"""What a cluster's own log says of unavailability and correlation, with intervals.

*Point estimates.* Unavailability is unavailable node-time over node-time. The correlation of two nodes of a domain is the pairwise moment
estimator for clustered binary data (Ridout, Demetrio and Firth, Biometrics 55, 1999): with P the share of pair-time in which both are
unavailable, rho = (P - p^2) / (p (1 - p)). Time in which a whole domain is away is told apart, so that the model can be given its share of
the unavailability and the correlation of the rest.

*Intervals.* Repairs last days, so what one domain shows from hour to hour is one long observation. Domains, though, are independent of each
other in the model, so they are the replicates: leave out one at a time and estimate anew (the jackknife for ratios; Miller, Biometrika 61,
1974; Wolter, Introduction to Variance Estimation, chapter 4), on a scale without bounds (the logit for p; the logarithm of the variance
inflation 1 + (n - 1) rho for rho), with Student's t of domains - 1 degrees of freedom.

*When there is too little.* The interval rests on the domains that had something happen. Weighed by their share of it, there must be
MIN_EFFECTIVE of them (Kish's effective number, 1 / sum of squared shares), else none is given and the reason is. What a log does not hold
at all no interval can include: `unseen_rack_days` says how rare whole-domain outages may be and still have gone unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

from clusters.domain.ids import DAY
from scheduling.domain.capacity.failures import HOURS_PER_DAY
from scheduling.domain.capacity.history import DomainTimes, Level, Observed
from scheduling.domain.capacity.model import Fleet, Outages, Sizes, check_sizes, fill
from scheduling.domain.capacity.numeric import poisson_interval, student_factor

#: Effective number of domains below which no interval is given. Below it, simulated intervals at 95 % held the truth in 10 to 80 %.
MIN_EFFECTIVE = 5.0

#: Mean times away that a log must span before its start, with every node up, no longer shows.
SETTLED = 3.0

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A number read off the log."""

    value: float | None  # None: the log does not say
    low: float | None = None  # limits of the interval; None without one
    high: float | None = None
    reason: str = ""  # why there is no value, or no interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What the log says of a cluster's outages."""

    span_days: float
    node_days: float
    domains: int
    unavailability: Measured
    rho: Measured  # between two nodes of a domain, whole-domain outages included
    rest_rho: float  # the same, whole-domain outages set aside; at least 0
    whole_rack_share: float  # share of the unavailability in which the whole domain was away
    whole_outages: int
    unseen_rack_days: float | None  # whole-domain outages rarer than one in so many domain-days may have gone unseen
    mean_days_away: float | None  # of a node, each time it becomes unavailable through a failure
    cautions: tuple[str, ...]  # what a reader must know, in words

    @property
    def outages(self) -> Outages | None:
        """The model's parameters; None where the log does not say."""
        if self.unavailability.value is None:
            return None
        return Outages(unavailability=self.unavailability.value, rho=self.rest_rho, whole_rack_share=self.whole_rack_share)

    @property
    def range(self) -> tuple[Outages, ...]:
        """The model at both ends of the interval of the unavailability; empty without one."""
        ends = (self.unavailability.low, self.unavailability.high)
        return tuple(
            Outages(unavailability=end, rho=self.rest_rho, whole_rack_share=self.whole_rack_share) for end in ends if end is not None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredInterruptions:
    """How often the cluster's own nodes failed, with exact Poisson limits."""

    count: int
    node_days: Measured  # days between interruptions of one node
    rack_days: Measured  # of the usual domain
    fleet_hours: Measured  # hours between interruptions anywhere
    dispersion: float | None  # variance over mean of the counts of the domains: 1 where failures are independent
    cautions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Sums:
    """Time integrals over one domain, or over several."""

    time: float = 0.0  # nodes
    away: float = 0.0  # unavailable nodes
    pairs: float = 0.0  # ordered pairs of nodes
    pairs_away: float = 0.0  # pairs of which both are unavailable
    whole: float = 0.0  # unavailable nodes while the whole domain is away

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(*(mine + its for mine, its in zip(self.row, other.row, strict=True)))

    def __sub__(self, other: _Sums) -> _Sums:
        return _Sums(*(mine - its for mine, its in zip(self.row, other.row, strict=True)))

    @property
    def row(self) -> tuple[float, ...]:
        return self.time, self.away, self.pairs, self.pairs_away, self.whole

    @property
    def share(self) -> float:
        return self.away / self.time

    @property
    def rho(self) -> float:
        share = self.share
        return (self.pairs_away / self.pairs - share * share) / (share * (1 - share))


def estimate(observed: Observed, confidence: float = CONFIDENCE) -> Estimate:
    """Read unavailability and correlation off the history."""
    domains = [sums for sums in (_sums(times) for times in observed.domains.values()) if sums.time > 0]
    total = _total(domains)
    unavailability = _unavailability(domains, total, confidence)
    whole_share = total.whole / total.away if total.away else 0.0
    failures = sum(times.interruptions for times in observed.domains.values())
    away_days = total.away / DAY / failures if failures else None
    whole_outages = sum(times.whole_outages for times in observed.domains.values())
    span_days = observed.span / DAY
    return Estimate(
        span_days=span_days,
        node_days=total.time / DAY,
        domains=len(domains),
        unavailability=unavailability,
        rho=_rho(domains, total, confidence),
        rest_rho=_rest_rho(observed),
        whole_rack_share=whole_share,
        whole_outages=whole_outages,
        unseen_rack_days=None if whole_outages or not domains else _domain_days(observed) / poisson_interval(0, confidence)[1],
        mean_days_away=away_days,
        cautions=_cautions(unavailability, span_days, away_days),
    )


def estimate_usable(observed: Observed, sizes: Sizes, confidence: float = CONFIDENCE) -> Measured:
    """Nodes that slices of these sizes could have used, as a mean over the time watched; no model in it."""
    check_sizes(sizes)
    rows = [_usable_row(times, sizes) for times in observed.domains.values()]
    rows = [row for row in rows if row[0] > 0]
    if not rows:
        return Measured(value=None, reason="nothing was observed yet")
    mean = sum(best / time for time, best in rows)
    if _effective(time for time, _ in rows) < MIN_EFFECTIVE:
        return Measured(value=mean, reason=_too_few(len(rows)))
    error = len(rows) * _standard_error([best / time for time, best in rows]) * student_factor(confidence, len(rows) - 1)
    return Measured(value=mean, low=max(0.0, mean - error), high=mean + error)


def estimate_interruptions(observed: Observed, fleet: Fleet, confidence: float = CONFIDENCE) -> MeasuredInterruptions:
    """Failures per node-time, scaled to a rack and to the fleet as it is now."""
    counts = [(times.interruptions, _sums(times).time / DAY) for times in observed.domains.values()]
    counts = [(count, days) for count, days in counts if days > 0]
    failures, node_days = sum(count for count, _ in counts), sum(days for _, days in counts)
    if not node_days or not fleet.nodes:
        nothing = Measured(value=None, reason="nothing was observed yet")
        return MeasuredInterruptions(count=0, node_days=nothing, rack_days=nothing, fleet_hours=nothing, dispersion=None, cautions=())
    least, most = poisson_interval(failures, confidence)
    node = Measured(
        value=node_days / failures if failures else None,
        low=node_days / most,
        high=node_days / least if failures else None,
        reason="" if failures else "no node failed in the time observed, so there is only a lower limit",
    )
    dispersion = _dispersion(counts, failures / node_days)
    return MeasuredInterruptions(
        count=failures,
        node_days=node,
        rack_days=_scaled(node, 1 / fleet.usual_size),
        fleet_hours=_scaled(node, HOURS_PER_DAY / fleet.nodes),
        dispersion=dispersion,
        cautions=_dispersion_cautions(dispersion, len(counts)),
    )


# ---- parts


def _sums(times: DomainTimes) -> _Sums:
    total = _Sums()
    for (nodes, away), time in times.spells.items():
        whole = away if away == nodes > 1 else 0
        total += _Sums(nodes * time, away * time, nodes * (nodes - 1) * time, away * (away - 1) * time, whole * time)
    return total


def _total(domains: Iterable[_Sums]) -> _Sums:
    return sum(domains, _Sums())


def _unavailability(domains: Sequence[_Sums], total: _Sums, confidence: float) -> Measured:
    if not domains:
        return Measured(value=None, reason="nothing was observed yet")
    value = total.share
    if not 0 < value < 1:
        return Measured(value=value, reason=f"no node was {'unavailable' if value == 0 else 'available'} in the time observed")
    effective = _effective(sums.away for sums in domains)
    if effective < MIN_EFFECTIVE:
        return Measured(value=value, reason=_too_few(effective))
    centre, error = _jackknife(domains, total, lambda sums: log(sums.away / (sums.time - sums.away)), confidence)
    return Measured(value=value, low=_logistic(centre - error), high=_logistic(centre + error))


def _rho(domains: Sequence[_Sums], total: _Sums, confidence: float) -> Measured:
    if not total.pairs:
        return Measured(value=None, reason="no domain has two nodes")
    if not 0 < total.share < 1:
        return Measured(value=None, reason="without unavailable nodes there is no correlation to see")
    effective = _effective(sums.pairs_away for sums in domains)
    if effective < MIN_EFFECTIVE:
        return Measured(value=total.rho, reason=f"two nodes of a domain were unavailable at once {_too_few(effective)}")
    others = total.pairs / total.time  # n - 1, of the usual domain

    def inflation(sums: _Sums) -> float:
        return log(max(TINY, 1 + others * sums.rho))

    centre, error = _jackknife(domains, total, inflation, confidence)
    low, high = ((exp(end) - 1) / others for end in (centre - error, centre + error))
    return Measured(value=total.rho, low=low, high=min(1.0, high))


#: Keeps the logarithm finite where no two nodes of a domain are ever unavailable at once.
TINY = 1e-9


def _rest_rho(observed: Observed) -> float:
    """The correlation in the time in which no whole domain was away."""
    rest = _total(_sums(DomainTimes(spells=_partial(times.spells.items()))) for times in observed.domains.values())
    if not rest.pairs or not 0 < rest.share < 1:
        return 0.0
    return max(0.0, rest.rho)


def _partial(spells: Iterable[tuple[Level, int]]) -> dict[Level, int]:
    return {level: time for level, time in spells if not level.unavailable == level.nodes > 1}


def _jackknife(domains: Sequence[_Sums], total: _Sums, statistic: Callable[[_Sums], float], confidence: float) -> tuple[float, float]:
    """The statistic of all domains, and half the width of its interval."""
    left_out = [statistic(total - sums) for sums in domains]
    spread = (len(domains) - 1) * _standard_error(left_out)
    return statistic(total), spread * student_factor(confidence, len(domains) - 1)


def _standard_error(values: Sequence[float]) -> float:
    """Of their mean."""
    count = len(values)
    mean = sum(values) / count
    return sqrt(sum((value - mean) ** 2 for value in values) / (count * (count - 1)))


def _effective(weights: Iterable[float]) -> float:
    """Kish's effective number: how many equal weights would carry as much."""
    listed = list(weights)
    squares = sum(weight * weight for weight in listed)
    return sum(listed) ** 2 / squares if squares else 0.0


def _too_few(effective: float) -> str:
    return f"in the weight of {effective:.1f} domains; an interval needs {MIN_EFFECTIVE:.0f}"


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x))


def _domain_days(observed: Observed) -> float:
    return sum(sum(times.spells.values()) for times in observed.domains.values()) / DAY


def _usable_row(times: DomainTimes, sizes: Sizes) -> tuple[float, float]:
    """(time, time x usable nodes) of a domain."""
    time = best = 0.0
    for level, spell in times.spells.items():
        time += spell
        best += spell * fill(level.nodes, sizes)[level.nodes - level.unavailable]
    return time, best


def _scaled(measured: Measured, factor: float) -> Measured:
    value, low, high = (None if end is None else end * factor for end in (measured.value, measured.low, measured.high))
    return Measured(value=value, low=low, high=high, reason=measured.reason)


def _dispersion(counts: Sequence[tuple[int, float]], rate: float) -> float | None:
    """Pearson's chi-squared over its degrees of freedom."""
    if rate == 0 or len(counts) < 2:
        return None
    return sum((count - rate * days) ** 2 / (rate * days) for count, days in counts) / (len(counts) - 1)


def _dispersion_cautions(dispersion: float | None, domains: int) -> tuple[str, ...]:
    if dispersion is None or dispersion <= 1 + 2 * sqrt(2 / (domains - 1)):
        return ()
    return (
        f"failures cluster in some domains ({dispersion:.1f} times the variance of independent ones): the Poisson limits are too narrow",
    )


def _cautions(unavailability: Measured, span_days: float, away_days: float | None) -> tuple[str, ...]:
    found: list[str] = []
    if unavailability.value is not None and away_days is not None and span_days < SETTLED * away_days:
        found.append(
            f"the log spans {span_days:.1f} days, less than {SETTLED:.0f} times the {away_days:.1f} days that a node stays away: "
            "if it began with all nodes up, it reads low"
        )
    return tuple(found)
