"""Intervals from domains as replicates, and when there are too few of them.

Repairs last days, so what one domain shows from hour to hour is one long observation. Domains, though, are independent of each other in the
model, so they are the replicates: leave out one at a time and estimate anew (the jackknife for ratios; Miller, Biometrika 61, 1974; Wolter,
Introduction to Variance Estimation, chapter 4), with Student's t of domains - 1 degrees of freedom.

An interval rests on the domains that had something happen. Weighed by their share of it there must be MIN_EFFECTIVE of them (Kish's
effective number, 1 / sum of squared shares); else none is given, and the reason is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TypeVar

from scheduling.domain.capacity.numeric import student_factor

#: Of each interval.
CONFIDENCE = 0.95

#: Effective number of domains below which no interval is given: simulated intervals at 95 % then held the truth in 10 to 80 %.
MIN_EFFECTIVE = 5.0

Sums = TypeVar("Sums")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A number read off the log."""

    value: float | None  # None: the log does not say
    low: float | None = None  # limits of the interval; None without one
    high: float | None = None
    reason: str = ""  # why there is no value, or no interval

    def scaled(self, factor: float) -> Measured:
        """The same in another unit."""
        value, low, high = (None if end is None else end * factor for end in (self.value, self.low, self.high))
        return Measured(value=value, low=low, high=high, reason=self.reason)


NOTHING = Measured(value=None, reason="nothing was observed yet")


def jackknife(left_out: Sequence[Sums], whole: Sums, statistic: Callable[[Sums], float]) -> tuple[float, float]:
    """The limits of a statistic, given the sums over all domains and over all but one."""
    count = len(left_out)
    values = [statistic(sums) for sums in left_out]
    mean = sum(values) / count
    error = sqrt((count - 1) / count * sum((value - mean) ** 2 for value in values)) * student_factor(CONFIDENCE, count - 1)
    centre = statistic(whole)
    return centre - error, centre + error


def too_few(weights: Iterable[float], what: str) -> str:
    """Why no interval can rest on these domains, each weighed by what it had of `what`; empty when one can."""
    effective = effective_number(weights)
    if effective >= MIN_EFFECTIVE:
        return ""
    return f"{what} was seen in {effective:.1f} domains in effect; an interval needs {MIN_EFFECTIVE:.0f}"


def effective_number(weights: Iterable[float]) -> float:
    """Kish's: how many equal weights would carry as much."""
    listed = list(weights)
    squares = sum(weight * weight for weight in listed)
    return sum(listed) ** 2 / squares if squares else 0.0
