"""Seats for one part of a job, or for a job without parts: which domain each slice gets, in rank order."""

from __future__ import annotations

from scheduling.domain.layers import spread_layers
from scheduling.domain.rooms import Rooms
from scheduling.domain.several import Spread, spread
from scheduling.domain.shape import PartShape
from scheduling.domain.single import EVERYWHERE, best_domain


def seats_for(rooms: Rooms, part: PartShape, areas: tuple[int, ...] = (EVERYWHERE,)) -> Spread:
    """Where its slices go; one slice keeps to the first of the areas (masks of domains) that serves."""
    if len(part.sizes) == 1:
        domain = best_domain(rooms, part.sizes[0], areas)
        return Spread((), 0) if domain is None else Spread(((domain, part.sizes[0]),), 1)
    return spread_layers(rooms, part) if part.layers else spread(rooms, part)
