"""What pages and the API say of capacity: the model's report for a cluster, or for a fleet that need not exist.

The report of a cluster is made once for each position of its log, question and minute, from rows that the housekeeping keeps: no reader
pays for the length of the log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from clusters.domain.errors import InvalidRequest
from clusters.eventlog.live import live
from clusters.eventlog.log import wall_now
from frontend.live.frames import Capacity
from frontend.live.view import capacity_of
from scheduling.capacity import recorded_capacity
from scheduling.domain.capacity.model import Fleet, Outages, Sizes, check_sizes, expected, fill
from scheduling.domain.capacity.report import Given, Report, cluster_report, fleet_report, label

DEFAULT_SIZES = "8,9,16,18"
#: Sizes in one question, and sizes that a domain may be filled with at once.
MOST_SIZES = 8
MOST_MIXED = 3
#: Characters of a list of sizes.
MOST_TEXT = 80

#: Points of a curve.
POINTS = 61
#: Curves go at least this far, and as far beyond the unavailability as to show where it may lead.
LEAST_REACH, REACH = 0.06, 1.6

REPORTS_KEPT = 32
MINUTE_US = 60_000_000

_SIZE = re.compile(r"[1-9][0-9]{0,3}")


class Interval(msgspec.Struct, frozen=True):
    """A number read off the log."""

    value: float | None  # null: the log does not say
    low: float | None
    high: float | None
    reason: str  # why there is no value, or no interval


class DomainKind(msgspec.Struct, frozen=True):
    """Domains of one size."""

    nodes: int
    count: int


class SliceCapacity(msgspec.Struct, frozen=True):
    """What slices of one size can use."""

    nodes: float  # expected
    share: float  # of all nodes
    sd: float
    p01: int  # nodes that are there 99 % of the time
    p05: int
    promised_slices: dict[str, int]  # by confidence
    error: float  # bound on the error of a confidence, where the normal distribution stands in
    after_failures: list[int]  # usable nodes of one domain after 0, 1, 2 ... failures


class BreakEvenPoint(msgspec.Struct, frozen=True):
    """Where two sizes can use the same."""

    slices: list[str]
    unavailability: float
    better_below: str
    better_above: str
    of_use: bool = True  # whether the jobs that ran make slices of both


class InterruptionRates(msgspec.Struct, frozen=True):
    """How often hardware interrupts work."""

    node_days: float
    rack_days: float
    fleet_hours: float
    fleet_per_day: float


class SeenInterruptions(msgspec.Struct, frozen=True):
    """The same, counted in the log."""

    count: int
    node_days: Interval
    rack_days: Interval
    fleet_hours: Interval
    dispersion: float | None


class SeenCapacity(msgspec.Struct, frozen=True):
    """What the cluster's own log says."""

    span_days: float
    node_days: float
    domains: int
    unavailability: Interval
    rho: Interval
    rho_without_whole_racks: float
    whole_rack_share: float
    whole_rack_outages: int
    unseen_rack_days: float | None
    interruptions: SeenInterruptions
    usable: dict[str, Interval]
    usable_now: dict[str, int]
    available_now: int
    cautions: list[str]


class SizeChoice(msgspec.Struct, frozen=True):
    """One size for the jobs that ran."""

    size: int
    usable: float
    widths: dict[str, float]  # nodes of a slice -> share of the jobs' node-time
    reason: str  # why it is not the one advised


class SizeAdvice(msgspec.Struct, frozen=True):
    """Which size to set."""

    size: int | None
    policy: int | None  # the size by the policy
    basis: str  # among which sizes it was chosen, and by what
    elsewhere: list[int]
    choices: list[SizeChoice]


class CapacityReport(msgspec.Struct, frozen=True, kw_only=True):
    """Usable nodes for each slice size."""

    nodes: int
    domains: list[DomainKind]
    unavailability: float
    rho: float
    whole_rack_share: float
    usable: dict[str, float]
    slices: dict[str, SliceCapacity]
    break_evens: list[BreakEvenPoint]
    interruptions: InterruptionRates
    caveats: list[str]
    advice: SizeAdvice | None  # null: nothing is known of the jobs
    measured: SeenCapacity | None = None  # null: the fleet asked about is not the cluster's own
    now: Capacity | None = None
    seq: int | None = None  # position of `now`

    @property
    def outages(self) -> Outages:
        """What the model was asked for."""
        return Outages(unavailability=self.unavailability, rho=self.rho, whole_rack_share=self.whole_rack_share)

    @property
    def fleet(self) -> Fleet:
        """What it was asked of."""
        return Fleet(domains=tuple((kind.nodes, kind.count) for kind in self.domains))


def read_sizes(text: str) -> tuple[Sizes, ...]:
    """`8,16,18+16` as sizes, each once; raises InvalidRequest."""
    expected_text = f"give 1 to {MOST_SIZES} slice sizes, such as {DEFAULT_SIZES}, or 18+16 for domains filled with either"
    found: dict[str, Sizes] = {}
    for part in text.replace(" ", "").split(","):
        words = part.split("+")
        if not all(_SIZE.fullmatch(word) for word in words) or len(words) > MOST_MIXED:
            raise InvalidRequest("sizes", text, expected_text)
        sizes = tuple(dict.fromkeys(int(word) for word in words))
        check_sizes(sizes)
        found.setdefault(label(sizes), sizes)
    if len(found) > MOST_SIZES:
        raise InvalidRequest("sizes", text, expected_text)
    return tuple(found.values())


def capacity_get(cluster: str, slices: tuple[Sizes, ...], given: Given) -> CapacityReport:
    """The report of a cluster; raises UnknownCluster, and InvalidRequest where it has no nodes."""
    followed = live(cluster)
    with followed.reading() as state:
        seq, epoch, now = state.seq, followed.position.epoch, capacity_of(state)
    if not now.nodes:
        raise InvalidRequest("racks", None, "this cluster has no nodes in a known domain yet; give racks to ask about another fleet")
    return _typed(_cluster_report(cluster, (epoch, seq, wall_now() // MINUTE_US), slices, given) | {"now": now, "seq": seq})


def capacity_of_fleet(fleet: Fleet, slices: tuple[Sizes, ...], given: Given) -> CapacityReport:
    """The report of a fleet that need not exist; raises InvalidRequest."""
    return _typed(_fleet_report(fleet, slices, given))


@lru_cache(maxsize=REPORTS_KEPT)
def _cluster_report(cluster: str, _moment: tuple[str, int, int], slices: tuple[Sizes, ...], given: Given) -> Report:
    found = recorded_capacity(cluster)
    return cluster_report(found.fleet, found.live, slices, given, found.mix)


@lru_cache(maxsize=REPORTS_KEPT)
def _fleet_report(fleet: Fleet, slices: tuple[Sizes, ...], given: Given) -> Report:
    return fleet_report(fleet, slices, given, {})


def _typed(report: Report) -> CapacityReport:
    return msgspec.convert(report, CapacityReport)


# ---- for charts


def curves(fleet: Fleet, slices: Sequence[Sizes], outages: Outages, most: float) -> dict[str, object]:
    """Usable nodes over unavailability, with independent failures and with failures as correlated as in `outages`."""
    reach = min(0.5, max(LEAST_REACH, REACH * most))
    steps = [reach * number / (POINTS - 1) for number in range(POINTS)]
    return {
        "unavailability": [round(step, 6) for step in steps],
        "independent": {label(sizes): [_at(fleet, sizes, step, Outages(unavailability=0.0)) for step in steps] for sizes in slices},
        "correlated": {label(sizes): [_at(fleet, sizes, step, outages) for step in steps] for sizes in slices},
    }


def tables(kinds: Sequence[DomainKind], slices: Sequence[Sizes]) -> Mapping[str, Mapping[int, tuple[int, ...]]]:
    """Slice size -> nodes of a domain -> usable nodes with 0, 1, 2 ... of them available: turns levels into a chart's live point."""
    return {label(sizes): {kind.nodes: fill(kind.nodes, sizes) for kind in kinds} for sizes in slices}


def _at(fleet: Fleet, sizes: Sizes, unavailability: float, like: Outages) -> float:
    outages = Outages(unavailability=unavailability, rho=like.rho, whole_rack_share=like.whole_rack_share)
    return round(expected(fleet, sizes, outages), 1)
