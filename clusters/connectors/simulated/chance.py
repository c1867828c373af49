"""Chance without state: each draw is a function of the seed and of what it is for.

Nothing is used up by drawing, so a restarted fleet draws the same fate again from the names and counts that the log gives it.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from statistics import NormalDist

_NORMAL = NormalDist()
_STEPS = 1 << 53  # what a float tells apart between 0 and 1


def uniform(seed: int, *key: str | int) -> float:
    """A number between 0 and 1, both excluded."""
    text = "/".join(map(str, (seed, *key)))
    number = int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
    return ((number >> 11) + 0.5) / _STEPS


def exponential(u: float, mean: float) -> float:
    """The exponential quantile of `u`."""
    return -mean * math.log1p(-u)


def lognormal(u: float, median: float, sigma: float) -> float:
    """The lognormal quantile of `u`."""
    return median * math.exp(sigma * _NORMAL.inv_cdf(u))
