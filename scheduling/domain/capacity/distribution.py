"""Exact distributions of whole numbers on a grid, and their sums.

A fleet's usable nodes are a sum over independent domains. A domain takes few different values (0 and 16, say), so the sum of thousands of
domains is an exact convolution on the grid of their common step. Tails lighter than TRIM are cut as they arise, which costs less than
1e-11 of probability in all. Where even that would be slow, the normal distribution stands in, with a bound on its error beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import floor, gcd, sqrt
from statistics import NormalDist

#: Probability below which a tail is cut.
TRIM = 1e-17

#: Grid points above which a sum is not convolved: the work grows with their square (half a second here).
MAX_POINTS = 4_096

#: Standard deviations that hold all but TRIM of a sum, both sides together.
SPREAD = 17

#: Berry-Esseen: the distribution functions of a sum of independent terms and of the normal differ by at most this much times
#: sum E|X - EX|^3 / (sum var X)^1.5, also where the terms differ (Shevtsova, Doklady Mathematics 82, 2010).
BERRY_ESSEEN = 0.56


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """Probabilities of first, first + step, first + 2 step and so on."""

    first: int
    step: int  # at least 1
    weights: tuple[float, ...]  # sum to 1, up to rounding and cut tails

    @classmethod
    def of(cls, weights: Mapping[int, float]) -> Distribution:
        """From value -> probability; values without probability are left out, so that the step is as wide as can be."""
        values = sorted(value for value, weight in weights.items() if weight > 0)
        first = values[0]
        step = gcd(*(value - first for value in values)) or 1
        grid = [0.0] * ((values[-1] - first) // step + 1)
        for value in values:
            grid[(value - first) // step] = weights[value]
        return cls(first=first, step=step, weights=tuple(grid))

    @property
    def values(self) -> range:
        """The grid."""
        return range(self.first, self.first + self.step * len(self.weights), self.step)

    @property
    def mean(self) -> float:
        """The expected value."""
        return sum(value * weight for value, weight in zip(self.values, self.weights, strict=True))

    def moment(self, order: int) -> float:
        """The expected absolute distance from the mean, to this power."""
        mean = self.mean
        return sum(abs(value - mean) ** order * weight for value, weight in zip(self.values, self.weights, strict=True))

    def at_least(self, confidence: float) -> int:
        """The most that is reached with this probability: the largest x with P(X >= x) >= confidence."""
        below = 1 - confidence
        for value, cumulated in zip(self.values, accumulate(self.weights), strict=True):
            if cumulated > below:
                return value
        return self.values[-1]

    def plus(self, other: Distribution) -> Distribution:
        """The distribution of the sum, the two being independent."""
        step = gcd(self.pitch, other.pitch) or 1
        return _trimmed(self.first + other.first, step, _convolve(self._on(step), other._on(step)))

    def times(self, count: int) -> Distribution:
        """The distribution of the sum of `count` independent ones like this."""
        total: Distribution | None = None
        power = self
        while True:
            if count & 1:
                total = power if total is None else total.plus(power)
            count >>= 1
            if not count:
                return total or Distribution(first=0, step=1, weights=(1.0,))
            power = power.plus(power)

    @property
    def pitch(self) -> int:
        """The step, or 0 for a single value, which fits any grid."""
        return self.step if len(self.weights) > 1 else 0

    def _on(self, step: int) -> list[float]:
        """The weights on a finer grid."""
        stride = self.step // step if len(self.weights) > 1 else 1
        grid = [0.0] * ((len(self.weights) - 1) * stride + 1)
        grid[::stride] = self.weights
        return grid


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """A sum over independent domains."""

    mean: float
    sd: float
    exact: Distribution | None  # None where the normal distribution stands in
    error: float  # bound on how far a probability, such as the confidence of `at_least`, may be off

    def at_least(self, confidence: float) -> int:
        """The most that is reached with this probability."""
        if self.exact is not None:
            return self.exact.at_least(confidence)
        return max(0, floor(NormalDist(self.mean, self.sd).inv_cdf(1 - confidence)))


def total_of(parts: Sequence[tuple[Distribution, int]]) -> Total:
    """The sum of `count` independent terms of each distribution."""
    mean = sum(part.mean * count for part, count in parts)
    sd = sqrt(sum(part.moment(2) * count for part, count in parts))
    step = gcd(*(part.pitch for part, _ in parts)) or 1
    reach = sum((part.values[-1] - part.first) * count for part, count in parts)
    if min(reach, SPREAD * sd) / step > MAX_POINTS:
        error = BERRY_ESSEEN * sum(part.moment(3) * count for part, count in parts) / sd**3
        return Total(mean=mean, sd=sd, exact=None, error=error)
    exact = Distribution(first=0, step=1, weights=(1.0,))
    for part, count in parts:
        exact = exact.plus(part.times(count))
    return Total(mean=mean, sd=sd, exact=exact, error=0.0)


def _convolve(left: list[float], right: list[float]) -> list[float]:
    if len(left) > len(right):
        left, right = right, left
    out = [0.0] * (len(left) + len(right) - 1)
    width = len(right)
    for shift, weight in enumerate(left):
        if weight:
            out[shift : shift + width] = [known + weight * more for known, more in zip(out[shift : shift + width], right, strict=True)]
    return out


def _trimmed(first: int, step: int, weights: list[float]) -> Distribution:
    low, high = _light(weights), len(weights) - _light(weights[::-1])
    return Distribution(first=first + low * step, step=step, weights=tuple(weights[low:high]))


def _light(weights: list[float]) -> int:
    """How many leading points weigh less than TRIM together."""
    return next((number for number, cumulated in enumerate(accumulate(weights)) if cumulated >= TRIM), 0)
