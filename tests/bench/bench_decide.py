"""Deciding where one 16-node slice goes: the whole decision, with reasons where it is refused, beside two ways to find a rack.

The floor keeps a bucket of racks for each free count and takes, applies and gives back: no spares, no order of choice, no nodes, no event.
The scan looks at every rack each time.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pytest

from clusters.domain.commands import RunPass
from clusters.domain.decision import Decision, Refusal
from clusters.domain.job_events import JobBlocked, JobPlaced, JobSubmitted
from clusters.domain.state import ClusterState
from scheduling.domain.decide import decide
from scheduling.domain.placement import place
from tests.bench.harness import Row, alternating_rates, table
from tests.support.world import World, ask, racks

SLICE = 16
REQUEST = ask(SLICE)
SECONDS = 1.5
SHARE = 0.85  # of the racks are in use


def fleet(count: int, *, full: bool) -> ClusterState:
    """Racks of 18 with slices and smaller jobs on most of them, or on all, and one job of one slice that waits."""
    world = World(racks(count), checked=False)
    chance = random.Random(count)
    for _ in range(count if full else int(count * SHARE)):
        world.add(JobSubmitted(request=ask(chance.choice([16, 16, 16, 12, 15])), submitted_by="bench"))
    world.run_pass()
    world.add(JobSubmitted(request=REQUEST, submitted_by="bench"))
    return world.state


class Buckets:
    """Racks by free count, as masks: the lowest rack of the first bucket that suffices."""

    def __init__(self, state: ClusterState) -> None:
        self.count = state.space.count.copy()
        self.buckets = state.space.buckets.copy()

    def decide(self) -> None:
        buckets = self.buckets
        for free in range(SLICE, len(buckets)):
            if buckets[free]:
                mark = buckets[free] & -buckets[free]
                rack = mark.bit_length() - 1
                buckets[free] ^= mark
                buckets[free - SLICE] |= mark
                self.count[rack] -= SLICE
                self._release(rack, free, mark)
                return

    def _release(self, rack: int, free: int, mark: int) -> None:
        self.buckets[free - SLICE] ^= mark
        self.buckets[free] |= mark
        self.count[rack] += SLICE


def scan(state: ClusterState) -> None:
    """Look at all racks."""
    min(((free, rack) for rack, free in enumerate(state.space.count) if free >= SLICE), default=None)


def _placed(state: ClusterState, *, fits: bool) -> None:
    assert isinstance(place(state.space, REQUEST, state.policy), Refusal) != fits


def _decided(state: ClusterState, kind: type[JobPlaced | JobBlocked]) -> None:
    outcome = decide(state, RunPass(), 0)
    assert isinstance(outcome, Decision)
    assert [type(event) for event in outcome.events] == [kind]


def _row(name: str, state: ClusterState, ours: Callable[[], None]) -> Row:
    rate, floor, scanned = alternating_rates(1, SECONDS, ours, Buckets(state).decide, partial(scan, state))
    floors = f"{1e6 / floor:,.1f} us kept counters, {1e6 / scanned:,.0f} us scan"
    return Row(name, f"{1e6 / rate:,.1f} us", floors, f"{floor / rate:.1f}x, {scanned / rate:.2f}x")


@pytest.mark.bench
def test_decide_one_slice() -> None:
    rows: list[Row] = []
    for count in (128, 1_000, 10_000):
        open_, full = fleet(count, full=False), fleet(count, full=True)
        rows += [
            _row(f"place, {count:,} racks", open_, partial(_placed, open_, fits=True)),
            _row(f"refuse with reasons, {count:,} racks", full, partial(_placed, full, fits=False)),
            _row(f"a whole pass that places it, {count:,} racks", open_, partial(_decided, open_, JobPlaced)),
        ]
    table("one 16-node slice (goal: 50 us at 128 racks, 100 at 1,000, 500 at 10,000)", rows)
