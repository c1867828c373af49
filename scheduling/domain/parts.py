"""Jobs whose parts differ: all of them placed together, or none.

The part with the largest slices goes first, each as it would alone beside those before it, inside one group of the job's level where that
is asked for, else inside one block where one of a few has room. Where that fails, a search over the slices of all parts together decides,
each part with a required level in every group of it; what parts prefer it does not look at. It is exact unless there are more than
`MOST_CHOICES` ways to choose the groups, or `search_areas` gives up: they share its work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import NamedTuple

from clusters.domain.constraints import LevelMode
from clusters.domain.policy import Policy
from clusters.domain.space import Space
from scheduling.domain.nodes import bits, choose_nodes
from scheduling.domain.packing import Bin, takes
from scheduling.domain.rooms import Rooms
from scheduling.domain.search import MOST_WORK, search_areas
from scheduling.domain.seating import seats_for
from scheduling.domain.several import Seats, Spread, bins_of
from scheduling.domain.shape import PartShape, Shape
from scheduling.domain.single import EVERYWHERE

#: Ways to choose groups for parts with required levels that the search goes through.
MOST_CHOICES = 64
#: Blocks tried, the tightest first, for parts that may lie anywhere.
MOST_BLOCKS = 8


class Together(NamedTuple):
    """The seats of each part, in the order of the request; none where they do not all fit."""

    seats: tuple[Seats, ...]
    part: int = -1  # the first that found no place; -1 where no group of the level has as many nodes
    spread: Spread = Spread((), 0)  # what of it fitted beside those before it


class Ground(NamedTuple):
    """What the parts are placed on."""

    space: Space
    shape: Shape
    policy: Policy
    recent: int
    home: int

    def rooms(self, area: int = EVERYWHERE) -> Rooms:
        """The request's view of an area of it."""
        rooms = Rooms(self.space, self.shape, self.policy, self.recent, self.home)
        rooms.area &= area
        return rooms


def place_parts(ground: Ground) -> Together:
    """Where the slices of all parts go."""
    shape, topology = ground.shape, ground.space.topology
    rooms = ground.rooms()
    refused = Together(())
    if shape.mode is not LevelMode.ANY:
        groups = [topology.area(shape.level, group) for group in _roomy(rooms, shape.level, shape.nodes)]
        refused = _in_one(ground, groups, groups)
        if refused.seats or shape.mode is LevelMode.REQUIRED:
            return refused
    blocks = [topology.area("block", group) for group in islice(_roomy(rooms, "block", shape.nodes), MOST_BLOCKS)]
    return _in_one(ground, [*blocks, EVERYWHERE], [EVERYWHERE])


def _in_one(ground: Ground, areas: Sequence[int], searched: Sequence[int]) -> Together:
    """All parts inside the first of the areas (masks of domains) that takes them one by one, else inside one where a search finds a way."""
    refused = Together(())
    for area in areas:
        refused = _one_by_one(ground, area)
        if refused.seats:
            return refused
    found = next((seats for area in searched if (seats := _all_at_once(ground, area))), ())
    return Together(found) if found else refused


def _roomy(rooms: Rooms, level: str, nodes: int) -> Iterator[int]:
    """The groups of the level with so many usable nodes, the tightest first."""
    group_of = rooms.space.topology.group_of[level]
    usable: dict[int, int] = {}
    for each, _, domains in rooms.usable():
        for domain in bits(domains) if each else ():
            usable[group_of[domain]] = usable.get(group_of[domain], 0) + each
    yield from (group for _, group in sorted((room, group) for group, room in usable.items() if room >= nodes))


# ---- one part after the other


def _one_by_one(ground: Ground, area: int) -> Together:
    parts = ground.shape.parts
    seats: dict[int, Seats] = {}
    ground = ground._replace(space=ground.space.fork())
    for place in sorted(range(len(parts)), key=lambda place: (-max(parts[place].sizes), -parts[place].nodes, place)):
        rooms = ground.rooms(area)
        found = seats_for(rooms, parts[place])
        if not found.seats:
            return Together((), place, found)
        seats[place] = found.seats
        ground = ground._replace(home=ground.home | _take(rooms, found.seats))
    return Together(tuple(seats[place] for place in range(len(parts))))


def _take(rooms: Rooms, seats: Seats) -> int:
    """Take as many nodes as the seats need; the mask of their domains where the job wants to be alone, which are its own from now on."""
    taken = 0
    for domain, size in seats:
        rooms.space.take_mask(domain, choose_nodes(rooms.space, domain, size, rooms.kept(domain)))
        taken |= 1 << domain
    return taken if rooms.alone else 0


# ---- all parts at once


def _all_at_once(ground: Ground, area: int) -> tuple[Seats, ...]:
    """Seats of each part by search; empty where none were found."""
    parts = ground.shape.parts
    rooms = ground.rooms(area)
    least = min(ground.shape.sizes)
    bins = bins_of(rooms, least, rooms.prices(least)[-1])
    if takes(bins, sorted(ground.shape.sizes, reverse=True)) < len(ground.shape.sizes):
        return ()
    choices = list(islice(product(*(list(_choices(rooms, part)) for part in parts)), MOST_CHOICES))
    for masks in choices:
        if seats := _search(bins, parts, masks, MOST_WORK // len(choices)):
            return seats
    return ()


def _choices(rooms: Rooms, part: PartShape) -> Iterator[int]:
    """Masks of the domains of which the part must take one whole."""
    if part.mode is LevelMode.REQUIRED and len(part.sizes) > 1:
        yield from (rooms.space.topology.area(part.level, group) for group in _roomy(rooms, part.level, part.nodes))
    else:
        yield EVERYWHERE


def _search(bins: Sequence[Bin], parts: Sequence[PartShape], masks: Sequence[int], work: int) -> tuple[Seats, ...]:
    slices = sorted(((size, place) for place, part in enumerate(parts) for size in part.sizes), key=lambda item: (-item[0], item[1]))
    kinds = {bin.domain: tuple(mask >> bin.domain & 1 for mask in masks) for bin in bins}
    homes = search_areas(bins, [(size, masks[place]) for size, place in slices], kinds, work)
    if homes is None:
        return ()
    seats: list[list[tuple[int, int]]] = [[] for _ in parts]
    for (size, place), domain in zip(slices, homes, strict=True):
        seats[place].append((domain, size))
    return tuple(tuple(sorted(each, key=lambda seat: (-seat[1], seat[0]))) for each in seats)
