"""S8 and S11: a rack whose switch fails, and a network that blinks."""

from __future__ import annotations

import random

from clusters.domain.books import Condition
from clusters.domain.books_of import read_books
from clusters.domain.health_events import NodeFailed
from clusters.domain.ids import MILLISECOND, MINUTE, SECOND
from clusters.domain.incident_events import IncidentOpened
from clusters.domain.job_events import NodeSwapped, SliceMoved
from clusters.domain.jobs import JobState
from clusters.domain.policy import Policy
from clusters.domain.state import Job
from tests.support.signals import nvlink, off_bus, unreachable, well
from tests.support.world import World, ask, racks


def nodes_of(job: Job, number: int) -> list[str]:
    return [name for name in job.slices[number].nodes if name is not None]


def test_s8_a_rack_incident_is_one_slice_move_and_a_node_elsewhere_is_swapped_at_once() -> None:
    world = World(racks(8))
    job = world.run(ask(64))
    other = world.run(ask(16))
    homes = [part.domain for part in job.slices]
    struck, untouched = homes[1], [nodes_of(job, number) for number in (0, 2, 3)]
    symptoms = [nvlink(name) for name in nodes_of(job, 1)[:8]]
    symptoms += symptoms[2:4]  # some report twice
    random.Random(8).shuffle(symptoms)
    decided = []
    for number, symptom in enumerate(symptoms):
        world.now = number * 50 * MILLISECOND
        world.add(symptom, source="signal:agent")
        if number == 4:
            world.add(off_bus(nodes_of(other, 0)[5]), source="signal:agent")
            at_once = world.settle()
            assert any(isinstance(event, NodeSwapped) for event in at_once)  # not after the window
            assert other.swaps == 1
            continue
        decided += world.settle()
    assert decided == []
    world.now = SECOND
    decided = world.settle()
    assert sum(isinstance(event, IncidentOpened) for event in decided) == 1
    assert [event.slice for event in decided if isinstance(event, SliceMoved)] == [1]
    assert not any(isinstance(event, NodeSwapped) for event in decided)
    assert [nodes_of(job, number) for number in (0, 2, 3)] == untouched
    assert (job.state, job.moves, job.swaps) == (JobState.RUNNING, 1, 0)
    later = [world.run(ask(8)) for _ in range(4)]
    assert struck not in {part.domain for placed in (job, *later) for part in placed.slices}


def test_s11_blips_are_no_failures_and_the_books_equal_reality() -> None:
    world = World(racks(12), Policy(unreachable_limit_s=300, recovery_quiet_s=60))
    jobs = [world.run(ask(32)) for _ in range(5)]
    draw = random.Random(11)
    busy = [name for job in jobs for number in range(len(job.slices)) for name in nodes_of(job, number)]
    blinking = draw.sample(busy, 42)
    dead, alive = blinking[:2], blinking[2:]
    world.add(*map(unreachable, blinking), source="signal:monitor")
    world.settle()
    assert read_books(world.state).condition[Condition.UNKNOWN] == 42
    back = sorted((draw.randrange(60, 180) * SECOND, name) for name in alive)
    for at, name in back:
        world.now = at
        world.add(well(unreachable(name)), source="signal:monitor")
        world.settle()
    world.now = 4 * MINUTE
    world.settle()
    assert sum(job.swaps for job in jobs) == 0
    world.now = 5 * MINUTE
    decided = world.settle()
    assert sorted(event.node for event in decided if isinstance(event, NodeFailed)) == sorted(dead)
    assert sorted(event.old for event in decided if isinstance(event, NodeSwapped)) == sorted(dead)
    books = read_books(world.state)
    assert (books.condition[Condition.UNKNOWN], books.condition[Condition.HEALTHY]) == (2, 12 * 18 - 2)
    assert {job.state for job in jobs} == {JobState.RUNNING}
    assert sum(job.swaps for job in jobs) == 2
    assert sum(job.moves for job in jobs) == 0
