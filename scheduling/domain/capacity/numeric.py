"""The little numerical mathematics that the standard library lacks: roots, Student's t, and exact Poisson limits.

Everything is a bisection on a monotone function that is itself a finite sum, so each value is good to the last few bits and the code can
be checked against printed tables.
"""

from __future__ import annotations

from collections.abc import Callable
from math import atan, exp, lgamma, log, pi, sqrt

Function = Callable[[float], float]

#: Points at which `roots` looks for a change of sign.
GRID = 500


def bisect(function: Function, low: float, high: float) -> float:
    """The zero of a continuous function whose signs at `low` and `high` differ, to the resolution of floats."""
    rising = function(high) > 0
    while low < (middle := (low + high) / 2) < high:
        if (function(middle) > 0) == rising:
            high = middle
        else:
            low = middle
    return high


def roots(function: Function, low: float, high: float, points: int = GRID) -> tuple[float, ...]:
    """Every place where the function changes sign; two changes between neighbouring grid points go unseen."""
    found: list[float] = []
    left, before = low, function(low)
    for number in range(1, points + 1):
        right = low + (high - low) * number / points
        after = function(right)
        if (before < 0 < after) or (after < 0 < before):
            found.append(bisect(function, left, right))
        elif after == 0 and before != 0:
            found.append(right)
        left, before = right, after
    return tuple(found)


def student_factor(confidence: float, freedom: int) -> float:
    """The t with P(|T| <= t) = confidence, for T Student-distributed with `freedom` degrees of freedom."""
    high = 1.0
    while student_within(high, freedom) < confidence:
        high *= 2
    return bisect(lambda t: student_within(t, freedom) - confidence, 0.0, high)


def student_within(t: float, freedom: int) -> float:
    """P(|T| <= t), by the finite series for whole degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    cosine_squared = freedom / (freedom + t * t)
    sine = t / sqrt(freedom + t * t)
    odd = freedom % 2
    term = sqrt(cosine_squared) if odd else 1.0
    total = term if freedom > 1 else 0.0
    for step in range(2 + odd, freedom - 1, 2):
        term *= cosine_squared * (step - 1) / step
        total += term
    return 2 / pi * (atan(t / sqrt(freedom)) + sine * total) if odd else sine * total


def poisson_at_most(count: int, mean: float) -> float:
    """P(X <= count) for X Poisson-distributed."""
    if mean <= 0:
        return 1.0
    term = exp(count * log(mean) - mean - lgamma(count + 1))
    total = 0.0
    for number in range(count, -1, -1):
        total += term
        term *= number / mean
        if number < mean and term < total * 1e-17:
            break
    return min(total, 1.0)


def poisson_interval(count: int, confidence: float) -> tuple[float, float]:
    """Exact limits of a Poisson mean of which `count` events were seen (Garwood, Biometrika 28, 1936)."""
    tail = (1 - confidence) / 2

    def above(mean: float) -> float:  # falls from 1 to 0
        return poisson_at_most(count, mean) - tail

    def below(mean: float) -> float:  # rises from 0 to 1
        return 1 - poisson_at_most(count - 1, mean) - tail

    reach = sqrt(count) + 1
    while above(count + reach) > 0 or (count > reach and below(count - reach) > 0):
        reach *= 2
    lower = bisect(below, max(0.0, count - reach), count) if count else 0.0
    return lower, bisect(above, count, count + reach)
