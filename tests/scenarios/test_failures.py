"""S12, and three failures in a row: failed nodes are replaced in place, and a slice moves only when its rack has no spare left."""

from __future__ import annotations

from clusters.domain.commands import NodeVerb
from clusters.domain.job_events import NodeSwapped, SliceMoved, StopRequested
from clusters.domain.jobs import JobState
from tests.support.world import World, ask, racks


def test_s12_two_dead_of_500_are_two_swaps_and_498_nodes_untouched() -> None:
    world = World(racks(33), checked=False)
    job = world.run(ask(500))
    before = dict(job.held_nodes)
    dead = ("r3-n7", "r25-n2")
    for node in dead:
        world.mark(node, NodeVerb.FAIL)
    events = world.run_pass()
    assert [type(event) for event in events] == [NodeSwapped, NodeSwapped]
    assert [(event.old, event.new.split("-")[0]) for event in events if isinstance(event, NodeSwapped)] == [
        ("r3-n7", "r3"),
        ("r25-n2", "r25"),
    ]
    assert {node: since for node, since in job.held_nodes.items() if since == 1} == {node: 1 for node in before if node not in dead}
    assert len(job.held_nodes) == 500
    world.settle()
    assert job.state is JobState.RUNNING
    world.log.sound()


def test_three_failures_in_a_row_are_two_swaps_and_a_move() -> None:
    world = World(racks(4))
    job = world.run(ask(32))
    assert [part.domain for part in job.slices] == ["r1", "r2"]
    other = list(job.slices[1].nodes)
    kinds = []
    for node in ("r1-n3", "r1-n11", "r1-n5"):
        world.mark(node, NodeVerb.FAIL)
        kinds.append([type(event) for event in world.settle()])
    assert kinds == [[NodeSwapped], [NodeSwapped], [SliceMoved, StopRequested]]
    assert [part.domain for part in job.slices] == ["r3", "r2"]
    assert job.slices[1].nodes == other
    assert (job.state, job.swaps, job.moves, job.generation) == (JobState.RUNNING, 2, 1, 4)
    assert all(not node.job for node in world.state.nodes.values() if node.domain == "r1")
