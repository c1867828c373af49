"""Choosing as few groups as possible, and of those that are as few the tightest.

A pool of groups, each with what it can hold, must take an amount together. The fewest are the largest; which of them, is free as long as
their number stays. Three ways to choose are compared by what comes next (groups needed one level below), then by what they leave over.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple


class Choice(NamedTuple):
    """One group of a pool; sorts from the least room up, then by what it has besides, then by number."""

    cap: int  # workers it can take of this request
    raw: int  # workers that fit, layers aside: less is left over
    group: int


def needed(caps: Sequence[int], amount: int) -> int:
    """How few of these it takes to hold `amount`."""
    if caps and caps[0] >= amount:  # often the first is enough
        return 1
    return 1 + bisect_left(list(accumulate(sorted(caps, reverse=True))), amount)


def choose(pool: Sequence[Choice], amount: int, below: Callable[[Sequence[Choice]], int]) -> list[Choice]:
    """The fewest of a pool that holds `amount` in all, most room first.

    `below` says how many groups of the next level a choice needs. The pool must hold the amount.
    """
    ways = _ways(sorted(pool), amount)
    first = next(ways)
    rest = [way for way in ways if way != first]
    if not rest:
        return first
    return min([first, *rest], key=lambda way: (below(way), sum(choice.raw for choice in way)))


def _ways(ascending: list[Choice], amount: int) -> Iterator[list[Choice]]:
    """Best fit for the last group; best fit for every group, as far as the amount allows; the largest ones."""
    largest = _largest(ascending, amount)
    count = len(largest)
    spare = sum(choice.cap for choice in largest) - amount
    taken = {choice.group for choice in largest}
    free = [choice for choice in ascending if choice.group not in taken]
    last_fit, all_fit = list(largest), list(largest)
    for place in range(count - 1, -1, -1):
        tightest = bisect_left(free, (all_fit[place].cap - spare,))
        if tightest == len(free) or free[tightest] >= all_fit[place]:
            continue
        found = free.pop(tightest)
        spare -= all_fit[place].cap - found.cap
        insort(free, all_fit[place])
        all_fit[place] = found
        if place == count - 1:
            last_fit[place] = found
    yield last_fit
    yield sorted(all_fit, key=_fill_order)
    yield largest


def _largest(ascending: Sequence[Choice], amount: int) -> list[Choice]:
    """Most room first, until the amount is held; of equals the one with least besides, then the first."""
    held, chosen = 0, []
    for choice in sorted(ascending, key=_fill_order):
        if held >= amount:
            break
        chosen.append(choice)
        held += choice.cap
    return chosen


def _fill_order(choice: Choice) -> tuple[int, int, int]:
    return -choice.cap, choice.raw, choice.group
