"""Where one slice size overtakes another, and by how much."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from scheduling.domain.capacity.model import Fleet, Outages, Sizes, expected
from scheduling.domain.capacity.numeric import roots

#: What may be varied to look for a break-even, and how far: more than half the nodes away is no fleet to plan for.
LIMITS = {"unavailability": 0.5, "rho": 1.0, "whole_rack_share": 1.0}

Varied = Literal["unavailability", "rho", "whole_rack_share"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Where two slice sizes use the same number of nodes."""

    at: float  # value of what was varied
    better_below: Sizes
    better_above: Sizes


def advantage(fleet: Fleet, first: Sizes, second: Sizes, outages: Outages) -> float | None:
    """Usable nodes with the first as a multiple of those with the second; None where the second can use none.

    Read the other way round it is a price: at 1.27, a node in the second kind of slice must be worth 1.27 times one in the first.
    """
    base = expected(fleet, second, outages)
    return expected(fleet, first, outages) / base if base > 0 else None


def break_evens(
    fleet: Fleet, first: Sizes, second: Sizes, outages: Outages, *, vary: Varied = "unavailability", ratio: float = 1.0
) -> tuple[BreakEven, ...]:
    """Every value of `vary` at which the first size uses `ratio` times as many nodes as the second, all else being as in `outages`."""

    def lead(value: float) -> float:
        moved = replace(outages, **{vary: value})
        return expected(fleet, first, moved) - ratio * expected(fleet, second, moved)

    limit = LIMITS[vary]
    found: list[BreakEven] = []
    for at in roots(lead, 0.0, limit):
        first_below = lead(at * (1 - 1e-6)) > 0
        found.append(BreakEven(at=at, better_below=first if first_below else second, better_above=second if first_below else first))
    return tuple(found)
