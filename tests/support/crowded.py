"""Crowded clusters as problems: every rack nearly full with small jobs, some of which stay where they are."""

from __future__ import annotations

import random

from clusters.domain.defrag import PlanAim
from scheduling.domain.defrag.model import Domain, Owner, Problem, Terms, Unit


def crowded(seed: int, racks: int, fill: float, *, nodes: int = 18, sizes: tuple[int, int] = (2, 8), count: int = 1) -> Problem:
    """`count` whole racks wanted; every rack is filled to the stated share, one node more or less, a tenth of the jobs stay."""
    chance = random.Random(f"{seed} {racks} {fill}")
    everywhere = (1 << racks) - 1
    domains: list[Domain] = []
    units: list[Unit] = []
    owners: list[Owner] = []
    for rack in range(racks):
        left = min(nodes, max(0, round(nodes * fill) + chance.choice((-1, 0, 1))))
        free = nodes - left
        pinned: list[tuple[str, int, str]] = []
        frees = 0
        while left:
            size = min(left, chance.randint(*sizes))
            left -= size
            name = f"j{len(units) + len(pinned) + rack * 100:06d}"
            if chance.random() < 0.1:
                pinned.append((name, size, "it cannot be restarted"))
                continue
            cost = size * chance.randint(1, 5)
            owner = Owner(jobs=(name,), units=(len(units),), shared=0, wait=None)
            units.append(
                Unit(
                    pieces=((name, 0),),
                    owner=len(owners),
                    domain=rack,
                    size=size,
                    frees=size,
                    cost=cost,
                    allowed=everywhere & ~(1 << rack),
                    small=False,
                )
            )
            owners.append(owner)
            frees += size
        domains.append(
            Domain(
                name=f"r{rack + 1}",
                free=free,
                slack=free,
                small_slack=free,
                most=free + frees,
                spares=0,
                floor=0,
                pinned=tuple(pinned),
                out=0,
            )
        )
    return Problem(
        aim=PlanAim.DOMAINS,
        job="",
        sizes=(),
        counts=(count,),
        whole=True,
        spared=False,
        targets=everywhere,
        areas=(),
        domains=tuple(domains),
        units=tuple(units),
        owners=tuple(owners),
        most_moves=None,
        terms=Terms(),
        narrowed="",
        at_seq=1,
        at=0,
    )
