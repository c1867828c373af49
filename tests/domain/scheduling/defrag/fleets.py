"""Small clusters in use, at random, with a job that finds no room."""

from __future__ import annotations

import random

from clusters.domain.commands import CancelJob
from clusters.domain.constraints import LevelMode
from clusters.domain.ids import MINUTE
from clusters.domain.jobs import ACTIVE, JobKind, JobRequest, JobState, Recovery
from clusters.domain.policy import Policy
from clusters.domain.setting import Backfill, SparesScope
from scheduling.domain.trial import Trial
from tests.support.world import World, ask, racks


def busy(seed: int) -> World:
    """Three to five racks of six to nine nodes, two racks a block, with all kinds of work; some of it has ended again."""
    chance = random.Random(seed)
    policy = Policy(
        slice_size=chance.choice((None, 4)),
        target_spares=chance.choice((0, 1, 2)),
        spares_scope=chance.choice(tuple(SparesScope)),
        interactive_preemptible=chance.random() < 0.2,
        backfill=chance.choice((Backfill.OFF, Backfill.EASY)),
    )
    world = World(racks(chance.randint(3, 5), nodes=chance.randint(6, 9), per_block=2), policy, checked=False)
    for _ in range(chance.randint(8, 26)):
        world.now += chance.randint(0, 20) * MINUTE
        world.submit(_request(chance))
        world.settle()
    world.now += chance.randint(0, 90) * MINUTE
    for name in [job.id for job in world.state.jobs.values() if job.state not in ACTIVE]:
        world.do(CancelJob(job=name, by="ada"))
    running = [job.id for job in world.state.jobs.values() if job.state in ACTIVE]
    for name in chance.sample(running, len(running) // 4):
        world.finish(name)
    return world


def _request(chance: random.Random) -> JobRequest:
    fields = {
        "priority": chance.choice((0, 0, 0, 10, 50)),
        "kind": chance.choice((JobKind.TRAINING, JobKind.TRAINING, JobKind.BATCH, JobKind.INTERACTIVE)),
        "restartable": chance.random() < 0.9,
        "recovery": chance.choice(tuple(Recovery)),
        "team": chance.choice(("red", "blue", "")),
    }
    if chance.random() < 0.25:
        return ask(None, gpus=chance.randint(1, 3), **fields)
    nodes = chance.choice((1, 1, 2, 2, 3, 3, 4, 5, 8))
    if nodes > 3 and chance.random() < 0.3:
        return ask(nodes, level="block", mode=LevelMode.REQUIRED, **fields)
    return ask(nodes, exclusive=chance.random() < 0.05, **fields)


def blocked(world: World, seed: int) -> str | None:
    """A job that no domain holds now, of one slice or two; None where there is room for all that was tried."""
    chance = random.Random(seed)
    size = world.state.topology.usual_size
    for nodes in (chance.randint(3, size), size, 2 * size - 2):
        request = ask(nodes, priority=chance.choice((0, 20, 60)), spares=chance.choice((None, 0, 1)), exclusive=chance.random() < 0.1)
        name = _try(world, request)
        if name is not None:
            return name
    return None


def _try(world: World, request: JobRequest) -> str | None:
    try:
        name = world.submit(request)
    except AssertionError:  # it could never fit
        return None
    world.settle()
    if world.job(name).state is JobState.WAITING:
        return name
    world.finish(name)
    return None


def trial_of(world: World) -> Trial:
    return Trial(world.state, world.now)
