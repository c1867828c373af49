"""The cheapest plan by looking at all sequences of moves, for problems of a few units; and such problems, at random."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator
from functools import partial
from itertools import product

from clusters.domain.defrag import PlanAim
from scheduling.domain.defrag.model import Domain, Owner, Problem, Terms, Unit, Way, cost_of, workloads

#: Where a unit is: None = where it was, -1 = nowhere, since its job waits.
Places = tuple[int | None, ...]


def cheapest(problem: Problem) -> tuple[int, int, int] | None:
    """(cost, workloads, nodes) of the best plan; None where there is none. Dijkstra's search over who is where."""
    start: Places = (None,) * len(problem.units)
    heap: list[tuple[tuple[int, int, int], int, Places]] = [((0, 0, 0), 0, start)]
    seen: set[Places] = set()
    number = 0
    while heap:
        cost, _, places = heapq.heappop(heap)
        if places in seen:
            continue
        seen.add(places)
        if serves(problem, places):
            return cost
        for after in _steps(problem, places):
            if after not in seen:
                number += 1
                heapq.heappush(heap, (price(problem, after), number, after))
    return None


def price(problem: Problem, places: Places) -> tuple[int, int, int]:
    moved, waiting = _moved(places), _waiting(problem, places)
    return (cost_of(problem, moved, waiting), *workloads(problem, moved, waiting))


def _moved(places: Places) -> tuple[int, ...]:
    return tuple(unit for unit, place in enumerate(places) if place is not None and place >= 0)


def _waiting(problem: Problem, places: Places) -> tuple[int, ...]:
    return tuple(number for number, owner in enumerate(problem.owners) if any(places[unit] == -1 for unit in owner.units))


def free_of(problem: Problem, places: Places) -> list[int]:
    free = [domain.free for domain in problem.domains]
    for unit, place in zip(problem.units, places, strict=True):
        if place is not None:
            free[unit.domain] += unit.frees
            if place >= 0:
                free[place] -= unit.size
    return free


def _steps(problem: Problem, places: Places) -> Iterator[Places]:
    free = free_of(problem, places)
    for number, unit in enumerate(problem.units):
        if places[number] is None:
            for domain in range(len(problem.domains)):
                if unit.allowed >> domain & 1 and free[domain] >= unit.size:
                    yield (*places[:number], domain, *places[number + 1 :])
    for owner in problem.owners:
        if owner.wait is not None and all(places[unit] is None for unit in owner.units):
            yield tuple(-1 if number in owner.units else place for number, place in enumerate(places))


def serves(problem: Problem, places: Places) -> bool:
    """Whether room is made, and no domain has given more than it has."""
    if problem.most_moves is not None and workloads(problem, _moved(places), _waiting(problem, places))[0] > problem.most_moves:
        return False
    flow = [free - domain.free for free, domain in zip(free_of(problem, places), problem.domains, strict=True)]
    if any(flow[index] + domain.slack < 0 and flow[index] < 0 for index, domain in enumerate(problem.domains)):
        return False
    coming = {place for unit, place in zip(problem.units, places, strict=True) if place is not None and place >= 0 and unit.small}
    if any(flow[index] + problem.domains[index].small_slack < 0 for index in coming):
        return False
    choices = [_choices(problem, places, index, flow[index]) for index in range(len(problem.domains))]
    return any(
        all(sum(way.counts[size] for way in ways if way) == count for size, count in enumerate(problem.counts)) and _inside(problem, ways)
        for ways in product(*choices)
    )


def _choices(problem: Problem, places: Places, index: int, flow: int) -> list[Way | None]:
    stay = any(place is None and unit.domain == index for unit, place in zip(problem.units, places, strict=True))
    if problem.whole and stay:
        return [None]
    return [None, *(way for way in problem.ways(index) if problem.domains[index].free + flow >= way.need)]


def _inside(problem: Problem, ways: tuple[Way | None, ...]) -> bool:
    mask = sum(1 << index for index, way in enumerate(ways) if way)
    return not problem.areas or any(not mask & ~area for area in problem.areas)


def small_problem(seed: int) -> Problem:
    """A few domains with a few units: of one slice or two, some that may wait, some that stay, room of two kinds."""
    chance = random.Random(seed)
    count = chance.randint(3, 4)
    nodes = chance.randint(4, 7)
    domains: list[Domain] = []
    sizes: list[tuple[int, int, int, bool]] = []  # domain, size, frees, small
    for index in range(count):
        free = chance.randint(0, 3)
        left = nodes - free
        frees = stays = 0
        while left > 0:
            size = min(left, chance.randint(1, 3))
            left -= size
            if chance.random() < 0.15 or len(sizes) >= 7:
                stays += size
            else:
                freed = size if chance.random() < 0.9 else size - 1
                sizes.append((index, size, freed, chance.random() < 0.5))
                frees += freed
        slack = max(0, free - chance.randint(0, 1))
        pinned = (("j9", stays, "it stays"),) if stays else ()
        domains.append(
            Domain(
                name=f"r{index}",
                free=free,
                slack=slack,
                small_slack=max(0, slack - chance.randint(0, 1)),
                most=free + frees,
                spares=chance.randint(0, 1),
                floor=0,
                pinned=pinned,
                out=0,
            )
        )
    units, owners = _units(chance, count, sizes)
    whole = chance.random() < 0.2
    wanted = partial(chance.randint, 2, nodes - 1)
    asked = tuple(sorted({wanted(), wanted()} if chance.random() < 0.3 else {wanted()}, reverse=True))
    return Problem(
        aim=PlanAim.JOB,
        job="j1",
        sizes=() if whole else asked,
        counts=(1,) if whole else tuple(chance.choice((1, 1, 2)) for _ in asked),
        whole=whole,
        spared=chance.random() < 0.5,
        targets=(1 << count) - 1,
        areas=(0b11, 0b1100) if chance.random() < 0.2 else (),
        domains=tuple(domains),
        units=tuple(units),
        owners=tuple(owners),
        most_moves=chance.choice((None, None, 3)),
        terms=Terms(),
        narrowed="",
        at_seq=1,
        at=0,
    )


def _units(chance: random.Random, count: int, sizes: list[tuple[int, int, int, bool]]) -> tuple[list[Unit], list[Owner]]:
    units: list[Unit] = []
    owners: list[Owner] = []
    groups: list[list[tuple[int, int, int, bool]]] = []
    for part in sizes:
        if groups and len(groups[-1]) == 1 and chance.random() < 0.25:
            groups[-1].append(part)
        else:
            groups.append([part])
    for number, group in enumerate(groups):
        shared = chance.randint(1, 6) if len(group) > 1 else 0
        own = [size * chance.randint(1, 5) for _, size, _, _ in group]
        wait = sum(own) + shared + chance.randint(1, 8) if chance.random() < 0.3 else None
        mask = (1 << count) - 1 if chance.random() < 0.8 else chance.getrandbits(count)
        owners.append(Owner(jobs=(f"j{number}",), units=tuple(range(len(units), len(units) + len(group))), shared=shared, wait=wait))
        for slice_, ((domain, size, frees, small), cost) in enumerate(zip(group, own, strict=True)):
            units.append(
                Unit(
                    pieces=((f"j{number}", slice_),),
                    owner=number,
                    domain=domain,
                    size=size,
                    frees=frees,
                    cost=cost,
                    allowed=mask & ~(1 << domain),
                    small=small,
                )
            )
    return units, owners
