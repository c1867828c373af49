"""S6: a long stream of one-GPU jobs does not erode the racks that 16-node slices need, without any migration."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from typing import Any

import pytest

from clusters.domain.decision import Refusal
from clusters.domain.policy import Policy
from scheduling.domain.placement import Placement, place
from tests.domain.scheduling.worlds import space_of
from tests.support.world import ask

RACKS, RACK_GPUS = 33, 72
LOAD = 0.3


class Stream:
    """Jobs come and go at random on 33 racks; time is in mean run times of a one-GPU job."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.space = space_of({f"r{rack}": 18 for rack in range(1, RACKS + 1)})
        self.time = 0.0
        self.ends: list[tuple[float, int, Callable[..., None], tuple[int, int]]] = []
        self.gpus = 0
        self.slices = 0

    def advance(self) -> None:
        """To the next arrival; what ends before it gives back what it has."""
        self.time += self.random.expovariate(RACKS * RACK_GPUS * LOAD)
        while self.ends and self.ends[0][0] < self.time:
            _, _, give_back, held = heapq.heappop(self.ends)
            give_back(*held)

    def small_job(self, number: int) -> None:
        placed = self._place(gpus=1)
        if placed is not None:
            node = self.space.topology.index[placed[0].nodes[0]]
            mask = 1 << placed[0].gpus[0]
            self.space.take_gpus(node, mask)
            self.gpus += 1
            self._end(1.0, number, self._end_small_job, (node, mask))

    def slice(self, number: int) -> None:
        placed = self._place(nodes=16)
        if placed is not None:
            domain = self.space.topology.domain_index[placed[0].domain]
            mask = sum(self.space.locate(self.space.topology.index[name])[1] for name in placed[0].nodes)
            self.space.take_mask(domain, mask)
            self.space.add_want(domain, None)
            self.slices += 1
            self._end(3.0, number, self._end_slice, (domain, mask))

    def racks_short_of_perfect(self) -> int:
        """Whole free racks that perfect packing would have more."""
        perfect = RACKS - self.slices - -(-self.gpus // RACK_GPUS)
        return perfect - self.space.buckets[18].bit_count()

    def _place(self, **fields: Any) -> Placement | None:
        outcome = place(self.space, ask(**fields), Policy())
        return None if isinstance(outcome, Refusal) else outcome

    def _end(self, mean: float, number: int, give_back: Callable[[int, int], None], held: tuple[int, int]) -> None:
        heapq.heappush(self.ends, (self.time + self.random.expovariate(1 / mean), number, give_back, held))

    def _end_small_job(self, node: int, mask: int) -> None:
        self.space.give_gpus(node, mask)
        self.gpus -= 1

    def _end_slice(self, domain: int, mask: int) -> None:
        self.space.give_mask(domain, mask)
        self.space.drop_want(domain, None)
        self.slices -= 1


@pytest.mark.slow
def test_s6_whole_racks_stay_whole_through_60_000_small_jobs() -> None:
    stream = Stream(seed=6)
    short = []
    for number in range(60_000):
        stream.advance()
        stream.small_job(number)
        if number % 200 == 0:
            stream.slice(number)
        if number > 3_000 and number % 50 == 0:
            short.append(stream.racks_short_of_perfect())
    assert min(short) >= 0
    assert max(short) <= 2
    assert sum(racks <= 1 for racks in short) >= 0.95 * len(short)
