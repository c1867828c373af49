"""Seats for one part of a job, or for a job without parts: which domain each slice gets, in rank order."""

from __future__ import annotations

from clusters.domain.constraints import LevelMode
from scheduling.domain.inner import in_one_inner
from scheduling.domain.layers import spread_layers
from scheduling.domain.levels import DOMAIN
from scheduling.domain.rooms import Rooms
from scheduling.domain.several import Spread, spread
from scheduling.domain.shape import PartShape
from scheduling.domain.single import EVERYWHERE, best_domain


def seats_for(rooms: Rooms, part: PartShape, areas: tuple[int, ...] = (EVERYWHERE,)) -> Spread:
    """Where its slices go; one slice keeps to the first of the areas (masks of domains) that serves."""
    if part.mode is not LevelMode.ANY and part.level not in rooms.space.topology.group_of:
        found = in_one_inner(rooms, part.sizes, part.level, areas)
        if found.seats or part.mode is LevelMode.REQUIRED:
            return found
        part = PartShape(sizes=part.sizes, level=DOMAIN, mode=part.mode)
    if len(part.sizes) == 1:
        domain = best_domain(rooms, part.sizes[0], areas)
        return Spread((), 0) if domain is None else Spread(((domain, part.sizes[0]),), 1)
    return spread_layers(rooms, part) if part.layers else spread(rooms, part)
