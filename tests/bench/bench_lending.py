"""What lending spares gains, and what it does to swaps: 128 racks with a slice of 16 each, and small restartable work that waits.

A swap onto a free spare is one decision. Where the spare is lent it is two: the lent work is told to stop, and once it has, the node is
taken. How long work takes to stop is the engine's matter and not in these figures; it comes on top of the second.
"""

from __future__ import annotations

import time
from statistics import median

import pytest

from clusters.domain.books import Use
from clusters.domain.books_of import read_books
from clusters.domain.commands import NodeVerb
from clusters.domain.job_events import NodeSwapped
from clusters.domain.policy import Policy
from scheduling.domain.recovery import recover
from scheduling.domain.trial import Trial
from tests.bench.harness import Row, table
from tests.support.world import World, ask, racks

pytestmark = pytest.mark.bench

RACKS = 128
SWAPS = 48


def fleet(*, lending: bool, per_rack: int) -> World:
    """Each rack has its slice, and so many jobs on one node wait for each rack."""
    world = World(racks(RACKS), Policy(lending=lending), checked=False)
    for _ in range(RACKS):
        world.submit(ask(16))
    world.settle()
    for _ in range(RACKS * per_rack):
        world.submit(ask(1))
    world.settle()
    return world


def in_use(world: World) -> float:
    books = read_books(world.state)
    return sum(books.use[use] for use in (Use.ALLOCATED, Use.LENT, Use.SHARED)) / books.nodes


def deciding(world: World) -> tuple[float, bool]:
    """Seconds that recovery takes to decide, apart from the rest of the pass, and whether it swaps."""
    start = time.perf_counter()
    events = [event for step in recover(Trial(world.state, world.now)) for event in step]
    return time.perf_counter() - start, any(isinstance(event, NodeSwapped) for event in events)


def swaps(world: World) -> list[float]:
    """Seconds of deciding from a failure to its swap, one rack after another."""
    took: list[float] = []
    for rack in range(1, SWAPS + 1):
        world.mark(f"r{rack}-n1", NodeVerb.FAIL)
        spent, swapped = deciding(world)
        if not swapped:
            world.run_pass()  # the lent work is told to stop
            world.connect()  # and does
            more, swapped = deciding(world)
            spent += more
        assert swapped
        took.append(spent)
        world.settle()
    return took


def test_lending() -> None:
    off, half, full = (fleet(lending=lending, per_rack=per_rack) for lending, per_rack in ((False, 2), (True, 1), (True, 2)))
    rows = [Row("nodes in use", f"{in_use(full):.1%}", f"{in_use(off):.1%} without", f"{in_use(full) / in_use(off):.3f}x")]
    base = median(swaps(off))
    for name, world in (("swap, a free spare beside a lent one", half), ("swap, every spare is lent", full)):
        ours = median(swaps(world))
        rows.append(Row(name, f"{ours * 1e3:.2f} ms", f"{base * 1e3:.2f} ms without", f"{ours / base:.2f}x"))
    table(f"lending spares on {RACKS} racks: nodes in use, and deciding a swap", rows)
