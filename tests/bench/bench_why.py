"""Saying why a job waits and what would start it: the whole answer, beside one placement and one pass of the same cluster."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from itertools import cycle

import pytest

from clusters.domain.commands import NodeVerb
from clusters.domain.jobs import QUEUED
from clusters.domain.state import Job
from scheduling.domain.counterfactuals.question import placements
from scheduling.domain.trial import Trial
from scheduling.domain.why import why
from tests.bench.harness import Row, alternating_rates, table
from tests.support.world import World, ask, racks

WAITING = 30
SECONDS = 3.0
#: (share of the jobs, nodes) of whole nodes.
SIZES = ((0.3, 1), (0.2, 2), (0.1, 4), (0.1, 8), (0.2, 16), (0.05, 32), (0.05, 64))


def full(count: int) -> World:
    """Racks of 18 with jobs of all sizes until some wait; one node in fifty has failed."""
    world, chance = World(racks(count), checked=False), random.Random(count)
    names = [node.name for node in world.state.topology.nodes]
    for name in chance.sample(names, len(names) // 50):
        world.mark(name, NodeVerb.FAIL)
    while len(world.state.queue) < WAITING:
        (nodes,) = chance.choices([nodes for _, nodes in SIZES], [share for share, _ in SIZES])
        limit = chance.choice([None, 3_600, 36_000])
        world.submit(ask(nodes, restartable=chance.random() < 0.7, priority=chance.choice([0, 0, 1]), time_limit_s=limit))
        if len(world.state.queue) % 8 == 7:
            world.settle()
    world.settle()
    return world


def _ask(world: World, jobs: Iterator[Job]) -> None:
    why(world.state, next(jobs), world.now)


def _place(world: World, job: Job) -> None:
    Trial(world.state, world.now).place(job.request, job)


def _pass(world: World) -> None:
    for _ in placements(Trial(world.state, world.now)):
        pass


@pytest.mark.bench
def test_why_a_job_waits() -> None:
    rows: list[Row] = []
    for count in (128, 1_000):
        world = full(count)
        jobs = [job for job in world.state.jobs.values() if job.state in QUEUED][:8]
        ours, placed, passed = alternating_rates(
            1, SECONDS, partial(_ask, world, cycle(jobs)), partial(_place, world, jobs[0]), partial(_pass, world)
        )
        took = 1e3 / ours
        floors = f"{1e3 / placed:,.2f} ms one placement, {1e3 / passed:,.1f} ms one pass"
        rows.append(Row(f"why, {count:,} racks", f"{took:,.0f} ms", floors, f"{placed / ours:,.0f}x, {passed / ours:.1f}x"))
    table("why a job waits, and what would start it (goal: 50 ms at 128 racks, 300 at 1,000)", rows)
