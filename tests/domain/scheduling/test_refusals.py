"""Why not: codes, counted reasons, and the one sentence that page, API and command show."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.domain.decision import Refusal
from clusters.domain.health_events import NodeDraining
from clusters.domain.inventory_events import NodeRegistered
from clusters.domain.job_events import JobBlocked, JobSubmitted
from clusters.domain.jobs import JobKind, JobRequest
from clusters.domain.policy import Policy
from clusters.domain.setting import Backfill
from scheduling.domain.feasibility import preview
from scheduling.domain.placement import place
from scheduling.domain.refusals import explain, with_conditions
from tests.domain.scheduling.worlds import space_of, want
from tests.support.world import World, ask, racks


def _refusal(outcome: object) -> Refusal:
    assert isinstance(outcome, Refusal)
    return outcome


def test_the_counts_of_a_slice_that_fits_nowhere() -> None:
    refusal = _refusal(place(space_of({"r1": 5, "r2": 12, "r3": 0}), ask(16), Policy()))
    assert refusal.code == "topology-blocked"
    assert refusal.counts == {
        "best_domain": "r2",
        "best_free": 12,
        "fit": 0,
        "free_domains": 2,
        "free_nodes": 17,
        "nodes": 16,
        "slice_size": 16,
        "slices": 1,
        "spares_kept": 0,
    }
    assert list(refusal.counts) == sorted(refusal.counts)
    assert explain(refusal) == "needs 1 domain with 16 free; best is r2 with 12; 17 nodes free in 2 domains"


def test_the_counts_of_several_slices_say_how_many_fit() -> None:
    refusal = _refusal(place(space_of({"r1": 18, "r2": 17, "r3": 15}), ask(64), Policy()))
    assert (refusal.code, refusal.counts["fit"]) == ("capacity-blocked", 2)
    assert explain(refusal) == "needs 4 slices of 16, 2 fit; best is r1 with 18; 50 nodes free in 3 domains"


def test_spares_kept_from_work_below_a_slice_are_counted_apart() -> None:
    space = want(want(space_of({"r1": 2, "r2": 3}), "r1"), "r2")
    refusal = _refusal(place(space, ask(2), Policy()))
    assert refusal.code == "capacity-blocked"
    assert explain(refusal) == "needs 1 domain with 2 free; best is r2 with 1; 1 node free in 1 domain; 4 more nodes kept as spares"


def test_conditions_are_named_in_their_order() -> None:
    refusal = _refusal(place(space_of({"r1": 0}), ask(1), Policy()))
    out: dict[str, int] = {"suspect": 1, "failed": 3, "healthy": 14, "in_repair": 2, "degraded": 1, "unchecked": 2}
    told = with_conditions(refusal, out)
    words = "3 nodes failed, 2 in repair, 1 suspect, 2 waiting for a check"
    assert explain(told) == f"needs 1 domain with 1 free; 0 nodes free in 0 domains; {words}"
    assert list(told.counts) == sorted(told.counts)


def test_a_refusal_read_back_from_an_event_reads_the_same() -> None:
    world = World(racks(1), Policy(backfill=Backfill.OFF))
    world.run(ask(16))
    world.add(NodeDraining(node="r1-n18", reason="work"))
    name = world.submit(ask(16))
    (blocked,) = world.run_pass()
    assert isinstance(blocked, JobBlocked)
    stored = Refusal(code=world.job(name).blocked, counts=world.job(name).counts)
    assert explain(stored) == "needs 1 domain with 16 free; best is r1 with 1; 1 node free in 1 domain; 1 node draining"


NEVER: dict[str, tuple[World, dict[str, Any], str]] = {
    "more nodes than there are": (World(racks(4)), {"nodes": 100}, "nodes: 100 can never be placed here; give at most 64 nodes"),
    "more GPUs than there are": (World(racks(2)), {"gpus": 160}, "gpus: 160 can never be placed here; give at most 32 nodes"),
    "a unit wider than any domain": (
        World(racks(2)),
        {"nodes": 40, "slice_size": 20},
        "nodes: 40 can never be placed here; no domain holds a slice of 20 nodes; give a slice_size of at most 18",
    ),
    "a policy wider than any domain": (
        World(racks(2), Policy(slice_size=24)),
        {"nodes": 24},
        "nodes: 24 can never be placed here; no domain holds a slice of 24 nodes; give a max_slice of at most 18",
    ),
    "spares that no domain can keep": (
        World(racks(2), Policy(min_spares=2, slice_size=18)),
        {"nodes": 18},
        "nodes: 18 can never be placed here; no domain holds a slice of 18 nodes; give a max_slice of at most 16",
    ),
    "nodes that the unit does not divide": (
        World(racks(2)),
        {"nodes": 25, "slice_size": 8},
        "nodes: 25 can never be placed here; give a multiple of slice_size (8), or ask for a tail slice of 1",
    ),
    "max_slice below the unit": (
        World(racks(2)),
        {"nodes": 16, "slice_size": 8, "max_slice": 4},
        "max_slice: 4 can never be placed here; give at least slice_size (8), or leave it out",
    ),
    "only nodes with data errors": (
        World([("r1", "b1", None, 2, 4)]),
        {"nodes": 1},
        "nodes: 1 can never be placed here; this cluster has no usable node",
    ),
}


@pytest.mark.parametrize("sentence", NEVER)
def test_what_can_never_fit_is_refused_at_submission_with_what_would_fit(sentence: str) -> None:
    world, fields, expected = NEVER[sentence]
    request = JobRequest(name="work", kind=JobKind.TRAINING, **fields)
    refusal = _refusal(preview(world.state, request))
    assert refusal.code == "infeasible"
    assert explain(refusal) == expected


def test_more_gpus_of_one_node_than_a_sound_node_has_is_refused() -> None:
    world = World([("h1", "b1", "h1", 1, 4)])
    for name in ("h2", "h3"):
        world.add(NodeRegistered(node=name, rack=name, domain=name, gpus=8, problem="no fabric"))
    refusal = _refusal(preview(world.state, ask(gpus=7)))
    assert explain(refusal) == "gpus: 7 can never be placed here; no node has that many GPUs; ask for whole nodes instead"


def test_a_suggestion_can_be_placed() -> None:
    world = World([*racks(2), ("x", "b1", "x", 12, 4)])
    refusal = _refusal(preview(world.state, ask(46, slice_size=2)))
    assert refusal.counts["expected"] == "give at most 40 nodes"
    assert not isinstance(preview(world.state, ask(40, slice_size=2)), Refusal)


def test_a_preview_says_how_the_request_is_cut() -> None:
    state = World(racks(4)).state
    texts = {}
    for name, request in {"32": ask(32), "17": ask(17), "16": ask(16), "1": ask(1), "gpu": ask(gpus=1), "gpus": ask(gpus=3)}.items():
        outcome = preview(state, request)
        assert not isinstance(outcome, Refusal)
        texts[name] = (outcome.slices, outcome.gpus, outcome.text)
    assert texts == {
        "32": ((16, 16), 0, "2 slices: 16 + 16 nodes, each whole in one domain"),
        "17": ((9, 8), 0, "2 slices: 9 + 8 nodes, each whole in one domain"),
        "16": ((16,), 0, "1 slice of 16 nodes, whole in one domain"),
        "1": ((1,), 0, "1 slice of 1 node, whole in one domain"),
        "gpu": ((), 1, "1 GPU of one node"),
        "gpus": ((), 3, "3 GPUs of one node"),
    }


def test_health_does_not_make_a_request_infeasible() -> None:
    world = World(racks(1))
    for node in range(1, 19):
        world.add(NodeDraining(node=f"r1-n{node}", reason="work"))
    assert not isinstance(preview(world.state, ask(16)), Refusal)


def test_a_job_from_a_trace_that_could_never_fit_is_told_so_once() -> None:
    world = World(racks(1))
    world.add(JobSubmitted(request=ask(32), submitted_by="trace"))
    (blocked,) = world.run_pass()
    assert isinstance(blocked, JobBlocked)
    assert (blocked.code, blocked.counts["expected"]) == ("infeasible", "give at most 18 nodes")
    assert world.run_pass() == []
