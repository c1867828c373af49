"""What a cluster's own log says of unavailability, correlation and interruptions, each with an interval or the reason for none.

Unavailability is unavailable node-time over node-time. The correlation of two nodes of a domain is the pairwise moment estimator for
clustered binary data (Ridout, Demetrio and Firth, Biometrics 55, 1999): with P the share of pair-time in which both are unavailable,
rho = (P - p^2) / (p (1 - p)). Time in which a whole domain is away is told apart, so that the model gets its share of the unavailability
and the correlation of the rest. Intervals are taken on scales without bounds (the logit for p; the logarithm of the variance inflation
1 + (n - 1) rho for rho), see `intervals`; those of interruptions are exact Poisson limits (Garwood, Biometrika 28, 1936).

What a log does not hold no interval can include: `unseen_rack_days` says how rare whole-domain outages may be and still have gone unseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

from clusters.domain.ids import DAY
from scheduling.domain.capacity.failures import HOURS_PER_DAY
from scheduling.domain.capacity.history import Observed
from scheduling.domain.capacity.intervals import CONFIDENCE, NOTHING, Measured, jackknife, too_few
from scheduling.domain.capacity.model import Fleet, Outages, Sizes, check_sizes
from scheduling.domain.capacity.numeric import poisson_interval
from scheduling.domain.capacity.sums import Sums, domain_sums, total

#: A log that began with every node up shows it until it spans this many times the unavailable node-time of a failure.
SETTLED = 3.0

#: Keeps logarithms finite where a domain that is left out was the only one in which something happened.
TINY = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What the log says of a cluster's outages."""

    span_days: float
    node_days: float
    domains: int
    unavailability: Measured
    rho: Measured  # between two nodes of a domain, whole-domain outages included; below 0 is chance and means none
    rest_rho: float  # the same, whole-domain outages set aside; at least 0
    whole_rack_share: float  # share of the unavailability in which the whole domain was away
    whole_outages: int
    unseen_rack_days: float | None  # whole-domain outages rarer than one in so many domain-days may have gone unseen; None: some were seen
    days_per_failure: float | None  # unavailable node-days for each failure; None: no failures
    cautions: tuple[str, ...]  # what a reader must know, in words

    @property
    def outages(self) -> Outages | None:
        """The model's parameters; None where the log does not say."""
        return None if self.unavailability.value is None else self._outages(self.unavailability.value)

    @property
    def ends(self) -> tuple[Outages, ...]:
        """The model at both ends of the interval of the unavailability; empty without one."""
        return tuple(self._outages(end) for end in (self.unavailability.low, self.unavailability.high) if end is not None)

    def _outages(self, unavailability: float) -> Outages:
        return Outages(unavailability=unavailability, rho=self.rest_rho, whole_rack_share=self.whole_rack_share)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredInterruptions:
    """How often the cluster's own nodes failed."""

    count: int
    node_days: Measured  # days between interruptions of one node
    rack_days: Measured  # of the usual domain
    fleet_hours: Measured  # hours between interruptions anywhere
    dispersion: float | None  # variance over mean of the domains' counts: 1 where failures are independent
    cautions: tuple[str, ...]


def estimate(observed: Observed) -> Estimate:
    """Read unavailability and correlation off the history."""
    domains = domain_sums(observed)
    whole = total(domains)
    failures = sum(times.interruptions for times in observed.domains.values())
    whole_outages = sum(times.whole_outages for times in observed.domains.values())
    span_days = observed.span / DAY
    days_per_failure = whole.away / DAY / failures if failures else None
    return Estimate(
        span_days=span_days,
        node_days=whole.nodes / DAY,
        domains=len(domains),
        unavailability=_unavailability(domains, whole),
        rho=_rho(domains, whole),
        rest_rho=max(0.0, total(domain_sums(observed, whole=False)).rho),
        whole_rack_share=whole.whole / whole.away if whole.away else 0.0,
        whole_outages=whole_outages,
        unseen_rack_days=None if whole_outages or not domains else whole.domains / DAY / poisson_interval(0, CONFIDENCE)[1],
        days_per_failure=days_per_failure,
        cautions=_cautions(span_days, days_per_failure),
    )


def estimate_usable(observed: Observed, sizes: Sizes) -> Measured:
    """The share of nodes that slices of these sizes could have used, as a mean over the time watched; no model in it."""
    check_sizes(sizes)
    domains = domain_sums(observed, sizes)
    if not domains:
        return NOTHING
    whole = total(domains)
    value = whole.usable / whole.nodes
    reason = too_few((sums.full - sums.usable for sums in domains), "a loss of usable nodes")
    if reason:
        return Measured(value=value, reason=reason)
    low, high = jackknife([whole - sums for sums in domains], whole, lambda sums: sums.usable / sums.nodes)
    return Measured(value=value, low=max(0.0, low), high=min(1.0, high))


def estimate_interruptions(observed: Observed, fleet: Fleet) -> MeasuredInterruptions:
    """Failures per node-time, scaled to a rack and to the fleet as it is now."""
    counts = [(times.interruptions, times.node_time / DAY) for times in observed.domains.values() if times.node_time]
    failures, days = sum(count for count, _ in counts), sum(days for _, days in counts)
    if not days or not fleet.nodes:
        return MeasuredInterruptions(
            count=failures, node_days=NOTHING, rack_days=NOTHING, fleet_hours=NOTHING, dispersion=None, cautions=()
        )
    least, most = poisson_interval(failures, CONFIDENCE)
    node = Measured(
        value=days / failures if failures else None,
        low=days / most,
        high=days / least if failures else None,
        reason="" if failures else "no node failed in the time observed, so there is only a lower limit",
    )
    dispersion = _dispersion(counts, failures / days)
    return MeasuredInterruptions(
        count=failures,
        node_days=node,
        rack_days=node.scaled(1 / fleet.usual_size),
        fleet_hours=node.scaled(HOURS_PER_DAY / fleet.nodes),
        dispersion=dispersion,
        cautions=_dispersion_cautions(dispersion, len(counts)),
    )


def _unavailability(domains: Sequence[Sums], whole: Sums) -> Measured:
    if not domains:
        return NOTHING
    if not whole.varies:
        return Measured(value=whole.share, reason=f"no node was {'available' if whole.away else 'unavailable'} in the time observed")
    reason = too_few((sums.away for sums in domains), "unavailability")
    if reason:
        return Measured(value=whole.share, reason=reason)
    low, high = jackknife(
        [whole - sums for sums in domains], whole, lambda sums: log(max(TINY, sums.away) / max(TINY, sums.nodes - sums.away))
    )
    return Measured(value=whole.share, low=1 / (1 + exp(-low)), high=1 / (1 + exp(-high)))


def _rho(domains: Sequence[Sums], whole: Sums) -> Measured:
    if not whole.pairs:
        return Measured(value=None, reason="no domain with two nodes or more was observed")
    if not whole.varies:
        return Measured(value=None, reason="without a change of availability there is no correlation to see")
    reason = too_few((sums.pairs_away for sums in domains), "two nodes of a domain unavailable at once")
    if reason:
        return Measured(value=whole.rho, reason=reason)
    others = whole.pairs / whole.nodes  # n - 1, of the usual domain
    ends = jackknife([whole - sums for sums in domains], whole, lambda sums: log(max(TINY, 1 + others * sums.rho)))
    low, high = ((exp(end) - 1) / others for end in ends)
    return Measured(value=whole.rho, low=low, high=min(1.0, high))


def _cautions(span_days: float, days_per_failure: float | None) -> tuple[str, ...]:
    if days_per_failure is None or span_days >= SETTLED * days_per_failure:
        return ()
    return (
        f"the log spans {span_days:.1f} days, less than {SETTLED:.0f} times the {days_per_failure:.1f} node-days that a failure costs: "
        "if it began with all nodes up, the unavailability reads low",
    )


def _dispersion(counts: Sequence[tuple[int, float]], rate: float) -> float | None:
    """Pearson's chi-squared over its degrees of freedom."""
    if rate == 0 or len(counts) < 2:
        return None
    return sum((count - rate * days) ** 2 / (rate * days) for count, days in counts) / (len(counts) - 1)


def _dispersion_cautions(dispersion: float | None, domains: int) -> tuple[str, ...]:
    """Two standard deviations above what independent failures show."""
    if dispersion is None or dispersion <= 1 + 2 * sqrt(2 / (domains - 1)):
        return ()
    return (f"failures cluster in some domains: their counts vary {dispersion:.1f} times as much as Poisson limits allow for",)
