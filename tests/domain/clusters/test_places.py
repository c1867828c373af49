"""A node keeps its domain and its GPUs while work is on it, whatever the inventory says meanwhile: a slice lies in one domain."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.domain.commands import CancelJob, NodeVerb
from clusters.domain.dump import dump_state, load_state
from clusters.domain.inventory_events import NodeAbsent, NodeChanged, NodeRegistered, NodeRemoved
from clusters.domain.job_events import NodeSwapped
from tests.support.world import World, ask, racks


def change(node: str, **told: Any) -> NodeChanged:
    return NodeChanged(**{"node": node, "rack": "r1", "domain": "r1", "gpus": 4, **told})


@pytest.mark.parametrize("kind", [NodeChanged, NodeRegistered])
@pytest.mark.parametrize("told", [{"domain": "r2"}, {"domain": "new"}, {"domain": None, "problem": "no clique"}, {"gpus": 2}, {"gpus": 8}])
def test_what_is_told_of_a_node_with_work_holds_from_when_the_work_has_left(kind: type, told: dict[str, Any]) -> None:
    world = World(racks(2))
    job = world.run(ask(16))
    node = job.slices[0].nodes[3]
    assert node is not None
    assert job.slices[0].domain == "r1"
    world.add(kind(**{"node": node, "rack": "r1", "domain": "r1", "gpus": 4, **told}), source="import")
    before = world.state.nodes[node]
    assert (before.domain, before.gpus) == ("r1", 4)
    world.finish(job.id)
    after = world.state.nodes[node]
    assert {"domain": after.domain, "gpus": after.gpus} == {"domain": told.get("domain", "r1"), "gpus": told.get("gpus", 4)}
    assert after.placeable == ("problem" not in told)


def test_a_node_that_fails_takes_its_new_place_at_once_and_is_replaced_in_the_old_one() -> None:
    world = World(racks(2))
    job = world.run(ask(16))
    node = job.slices[0].nodes[0]
    assert node is not None
    world.add(change(node, domain="r2"), source="import")
    world.mark(node, NodeVerb.FAIL)
    (swap,) = (event for event in world.settle() if isinstance(event, NodeSwapped))
    assert world.state.nodes[node].domain == "r2"
    assert world.state.nodes[swap.new].domain == "r1"


def test_a_shared_node_keeps_its_gpus_until_the_last_of_its_jobs_has_left() -> None:
    world = World(racks(1, nodes=1))
    jobs = [world.run(ask(None, gpus=2)) for _ in range(2)]
    (node,) = world.state.nodes
    world.add(change(node, domain="r1", gpus=2), source="import")
    world.finish(jobs[0].id)
    assert world.state.nodes[node].gpus == 4
    world.finish(jobs[1].id)
    assert world.state.nodes[node].gpus == 2
    assert world.state.space.gpu_free == {}
    assert world.run(ask(None, gpus=2)).held_nodes


DEEDS = st.tuples(
    st.sampled_from(["submit", "submit", "finish", "change", "change", "absent", "remove", "fail", "repair", "cancel"]),
    st.integers(0, 35),
    st.integers(0, 5),
)


@settings(max_examples=80)
@given(st.lists(DEEDS, max_size=40))
def test_every_invariant_holds_whatever_an_inventory_says_of_nodes_in_use(deeds: list[tuple[str, int, int]]) -> None:
    world = World(racks(2))  # checks every invariant after every event
    nodes = list(world.state.nodes)
    for what, which, how in deeds:
        node = nodes[which]
        jobs = list(world.state.jobs)
        if what == "submit":
            world.run(ask(None, gpus=1 + how % 4) if how % 2 else ask((1, 2, 16, 18, 20, 4)[how], spares=0))
        elif what == "change":
            domain = ("r1", "r2", "r3", None, node, "r1")[how]
            problem = "" if domain else "unknown"
            world.add(change(node, domain=domain, gpus=(4, 4, 4, 2, 8, 1)[how], problem=problem), source="import")
        elif what in ("absent", "remove"):
            world.add(NodeAbsent(node=node) if what == "absent" else NodeRemoved(node=node, reason="sold"), source="import")
        elif what in ("fail", "repair"):
            world.mark(node, NodeVerb(what))
        elif jobs:
            job = jobs[which % len(jobs)]
            if what == "cancel":
                world.do(CancelJob(job=job, by="ada"))
            else:
                world.finish(job)
        world.settle()
        assert dump_state(load_state(dump_state(world.state))) == dump_state(world.state)
