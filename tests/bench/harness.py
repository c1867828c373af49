"""What the benchmarks share: measured rows beside a floor of the same run, printed as one table.

Machines differ and are noisy: only ratios within one run mean something, and nothing is asserted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One thing measured, and what it is held against."""

    name: str
    ours: str
    floor: str
    ratio: str


def table(title: str, rows: Iterable[Row]) -> None:
    """Print the rows below their title."""
    lines = [Row("", "ours", "floor", "ratio"), *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(Row._fields))]
    print(f"\n{title}")
    for line in lines:
        name, *numbers = (
            text.ljust(width) if not column else text.rjust(width) for column, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join((name, *numbers)).rstrip())


def rate_row(name: str, ours: float, floor: float, what: str) -> Row:
    """A rate a second against the floor's: more is better."""
    return Row(name, f"{ours:,.0f}/s", f"{floor:,.0f}/s {what}", f"{ours / floor:.2f}x")


def alternating_rates(
    units: float, seconds: float, *works: Callable[..., object], prepare: Callable[[], tuple[Any, ...]] = tuple
) -> list[float]:
    """The median rate of each work, in units a second; they take turns, so that a noisy moment meets all of them.

    `prepare` makes the arguments of each turn and is not measured.
    """
    took: list[list[float]] = [[] for _ in works]
    for work in works:  # once to warm up
        work(*prepare())
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(took[0]) < 3:
        for work, times in zip(works, took, strict=True):
            arguments = prepare()
            started = time.perf_counter()
            work(*arguments)
            times.append(time.perf_counter() - started)
    return [units / median(times) for times in took]
