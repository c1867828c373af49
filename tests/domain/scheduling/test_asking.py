"""What jobs may ask of where they run, as sentences. Racks r1 to r8 are domains of 18 nodes, four to a block; slices are of 16."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from clusters.domain.constraints import JobPart, Layer, LevelMode, ParallelPlan
from clusters.domain.decision import Refusal
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.slices import parts_of_slices
from clusters.domain.space import Space
from clusters.domain.topology import Site, build_topology
from scheduling.domain.placement import place
from scheduling.domain.refusals import explain
from tests.domain.scheduling.worlds import space_of, want
from tests.support.world import ask

REQUIRED, PREFERRED = LevelMode.REQUIRED, LevelMode.PREFERRED
BLOCKS = {f"r{n}": f"b{(n - 1) // 4 + 1}" for n in range(1, 9)}


def cluster(**free: int) -> Space:
    """All racks whole but those named."""
    return space_of({name: free.get(name, 18) for name in BLOCKS}, blocks=BLOCKS)


def parts(*listed: JobPart, **fields: Any) -> JobRequest:
    return ask(sum(part.nodes for part in listed), parts=listed, **fields)


def layers(**sizes: int) -> tuple[Layer, ...]:
    return tuple(Layer(level=level, size=size) for level, size in sizes.items())


class Case(NamedTuple):
    space: Space
    request: JobRequest
    expected: str


TRAINER = JobPart(name="trainer", nodes=32)
ROLLOUT = JobPart(name="rollout", nodes=12, max_slice=4)

LEVELS = {
    "required at a block": Case(cluster(r1=5), ask(64, level="block", mode=REQUIRED), "r5:16 r6:16 r7:16 r8:16"),
    "required at a block goes to the most broken that serves": Case(cluster(r8=4), ask(32, level="block", mode=REQUIRED), "r5:16 r6:16"),
    "required at a block that holds another mixture than the greedy one": Case(
        space_of({"r1": 6, "r2": 9, "r3": 15, "r5": 12}, blocks=BLOCKS),
        ask(27, max_slice=6, spares=0, level="block", mode=REQUIRED),
        "r1:6 r2:6 r3:5 r3:5 r3:5",
    ),
    "required at a rack": Case(cluster(), ask(18, level="rack", mode=REQUIRED), "r1:9 r1:9"),
    "required at a domain that has all": Case(cluster(r1=17), ask(18, level="domain", mode=REQUIRED), "r2:9 r2:9"),
    "no block has room": Case(
        cluster(r1=5, r5=5, r6=3),
        ask(64, level="block", mode=REQUIRED),
        "needs 1 block with 64 in slices of 16; best is b1 with 48; 103 nodes free in 8 domains",
    ),
    "no rack has room": Case(
        cluster(r1=5),
        ask(32, level="rack", mode=REQUIRED),
        "needs 1 domain with 32 in slices of 16; best is r2 with 16; 131 nodes free in 8 domains",
    ),
    "preferred at a block goes before spares": Case(
        cluster(r1=5, r5=16), ask(64, level="block", mode=PREFERRED), "r5:16 r6:16 r7:16 r8:16"
    ),
    "preferred at a block where none has room": Case(
        cluster(r1=5, r5=5), ask(64, level="block", mode=PREFERRED), "r2:16 r3:16 r4:16 r6:16"
    ),
    "preferred at a rack where one has room": Case(cluster(), ask(18, level="rack", mode=PREFERRED), "r1:9 r1:9"),
    "preferred at a rack where none has room": Case(cluster(), ask(32, level="rack", mode=PREFERRED), "r1:16 r2:16"),
    "one slice lies in one group of any level": Case(cluster(), ask(16, level="block", mode=REQUIRED), "r1:16"),
    "a level with the mode any asks for nothing": Case(cluster(r1=17), ask(18, level="rack"), "r1:9 r2:9"),
    "a level that is not there": Case(
        cluster(),
        ask(16, level="zone", mode=REQUIRED),
        "level: zone can never be placed here; give one of the levels of this cluster: block, rack, domain, node",
    ),
    "several nodes do not lie in one node": Case(
        cluster(),
        ask(2, level="node", mode=REQUIRED),
        "level: node can never be placed here; 2 nodes do not lie in one; give one of block, rack, domain",
    ),
    "one node does": Case(cluster(), ask(1, level="node", mode=REQUIRED), "r1:1"),
}

LAYERS = {
    "48 a block, 16 a rack": Case(cluster(), ask(96, layers=layers(block=48, rack=16)), "r1:16 r2:16 r3:16 r5:16 r6:16 r7:16"),
    "32 a block": Case(cluster(r2=3, r3=3, r4=3), ask(64, layers=layers(block=32)), "r5:16 r6:16 r7:16 r8:16"),
    "a run that its slices do not divide evenly": Case(cluster(), ask(80, layers=layers(block=40)), "r1:14 r2:13 r3:13 r5:14 r6:13 r7:13"),
    "a tail comes last, in one group": Case(cluster(r4=6), ask(54, layers=layers(block=48), tail=True, spares=0), "r1:16 r2:16 r3:16 r4:6"),
    "a tail that nobody asked for": Case(
        cluster(),
        ask(54, layers=layers(block=48)),
        "nodes: 54 can never be placed here; give a multiple of the outermost layer (48), or ask for a tail of 6",
    ),
    "runs that fit no block": Case(
        cluster(r1=5, r2=5, r5=5, r6=5),
        ask(96, layers=layers(block=48)),
        "needs 6 slices of 16 (48 a block), 0 fit; best is r3 with 18; 92 nodes free in 8 domains",
    ),
    "one block for all runs": Case(
        cluster(r1=5), ask(64, layers=layers(block=32), level="block", mode=REQUIRED), "r5:16 r6:16 r7:16 r8:16"
    ),
    "runs of the inner layer that make no run of the outer one": Case(
        cluster(r4=0, r6=0, r7=0, r8=0),
        ask(64, max_slice=8, layers=layers(block=32, rack=16)),
        "needs 8 slices of 8 (32 a block, 16 a domain), 4 fit; best is r1 with 18; 72 nodes free in 4 domains",
    ),
    "runs that do": Case(
        cluster(r4=0, r6=0, r7=0), ask(64, max_slice=8, layers=layers(block=32, rack=16)), "r1:8 r1:8 r2:8 r2:8 r5:8 r5:8 r8:8 r8:8"
    ),
    "a tail in another block than the run": Case(
        cluster(r1=16, r2=16, r3=0, r4=0, r5=6, r6=0, r7=0, r8=0),
        ask(38, layers=layers(block=32), tail=True, spares=0),
        "r1:16 r2:16 r5:6",
    ),
    "a tail that is whole runs of the inner layer": Case(
        cluster(),
        ask(48, max_slice=8, layers=layers(block=32, rack=16), tail=True),
        "r2:8 r2:8 r3:8 r3:8 r1:8 r1:8",
    ),
    "a tail where it costs no run": Case(
        cluster(r1=0, r2=4, r3=6, r4=0, r5=0, r6=2, r7=8, r8=0),
        ask(17, max_slice=2, layers=layers(block=4, rack=4), tail=True, spares=0),
        "r7:2 r7:2 r7:2 r7:2 r2:2 r2:2 r3:2 r3:2 r3:1",
    ),
    "a tail that finds no room beside the run": Case(
        cluster(r1=16, r2=16, r3=0, r4=0, r5=5, r6=0, r7=0, r8=0),
        ask(38, layers=layers(block=32), tail=True, spares=0),
        "needs 3 slices of 16 (32 a block), 2 fit; best is r1 with 16; 37 nodes free in 3 domains",
    ),
    "layers in the wrong order": Case(
        cluster(),
        ask(32, layers=layers(rack=16, block=16)),
        "layers[1].level: block can never be placed here; list the outermost first: block, rack, domain, node",
    ),
    "a layer inside the domain": Case(
        cluster(),
        ask(32, layers=layers(node=16)),
        "layers[0].level: node can never be placed here; slices lie inside domains already; give one of block, rack, domain",
    ),
}

PLANS = {
    "64 GPUs of experts are one slice": Case(cluster(), ask(64, plan=ParallelPlan(ep=64, dp=4)), "r1:16 r2:16 r3:16 r4:16"),
    "groups of 24 GPUs are units of 6 nodes": Case(cluster(), ask(48, plan=ParallelPlan(tp=8, ep=3, dp=8)), "r1:12 r2:12 r3:12 r4:12"),
    "groups below a node are free": Case(cluster(), ask(17, plan=ParallelPlan(tp=2, dp=34)), "r1:9 r2:8"),
    "a number of nodes that contradicts the plan": Case(
        cluster(),
        ask(32, plan=ParallelPlan(tp=8, dp=32)),
        "plan: tp 8 x ep 1 x pp 1 x dp 32 = 256 ranks can never be placed here; "
        "give one rank for each of the 128 GPUs, or ask for 64 nodes",
    ),
    "a slice size that tears groups": Case(
        cluster(),
        ask(36, slice_size=9, plan=ParallelPlan(tp=48, dp=3)),
        "plan: tp 48 x ep 1 can never be placed here; give groups that fit in a slice: this one fills 12 nodes, and slices have at most 9",
    ),
    "part of a node": Case(cluster(), ask(gpus=2, plan=ParallelPlan(tp=2)), "r1:(0, 1)"),
}

EXCLUSIVE = {
    "alone in its domain": Case(cluster(r1=17, r2=1), ask(4, exclusive=True), "r3:4"),
    "several slices of one job may share one": Case(cluster(), ask(8, max_slice=4, exclusive=True), "r1:4 r1:4"),
    "no domain is empty": Case(
        space_of({"r1": 17, "r2": 17}),
        ask(4, exclusive=True),
        "needs 1 empty domain with 4 free; 0 domains without other work; 0 nodes free in 0 domains",
    ),
    "GPUs of one node, too": Case(cluster(r1=17), ask(gpus=1, exclusive=True), "r2:(0,)"),
}

PARTS = {
    "each part is cut by its own sizes, and comes in its order": Case(cluster(), parts(ROLLOUT, TRAINER), "r3:4 r3:4 r3:4 r1:16 r2:16"),
    "all parts in the most broken block that has room": Case(cluster(r1=3), parts(TRAINER, ROLLOUT), "r2:16 r3:16 r4:4 r4:4 r4:4"),
    "all parts required in one block": Case(
        cluster(r1=3, r2=3), parts(TRAINER, ROLLOUT, level="block", mode=REQUIRED), "r5:16 r6:16 r7:4 r7:4 r7:4"
    ),
    "no block for all": Case(
        cluster(r1=3, r2=3, r5=3, r6=3),
        parts(TRAINER, JobPart(name="rollout", nodes=30, max_slice=10), level="block", mode=REQUIRED),
        "needs 1 block with 62 in slices of 16; 84 nodes free in 8 domains",
    ),
    "one part in one block": Case(
        cluster(r1=3, r2=3, r5=3, r6=3, r7=3),
        parts(TRAINER, JobPart(name="rollout", nodes=30, max_slice=10, level="block", mode=REQUIRED)),
        "needs 2 parts at once; of part rollout 1 of 3 slices of 10 fit; 69 nodes free in 8 domains",
    ),
    "none is placed where one is not": Case(
        cluster(**{f"r{n}": 10 for n in range(2, 9)}),
        parts(TRAINER, ROLLOUT),
        "needs 2 parts at once; of part trainer 1 of 2 slices of 16 fit; 88 nodes free in 8 domains",
    ),
    "parts that only fit when all are looked at together": Case(
        space_of({"r1": 8, "r2": 5}),
        parts(JobPart(name="a", nodes=7, max_slice=4), JobPart(name="b", nodes=6, max_slice=2), spares=0),
        "r1:4 r2:3 r1:2 r1:2 r2:2",
    ),
    "exclusive parts may share a domain": Case(
        space_of({"r1": 18, "r2": 17}),
        parts(JobPart(name="a", nodes=4), JobPart(name="b", nodes=3), exclusive=True),
        "r1:4 r1:3",
    ),
    "layers beside parts": Case(
        cluster(),
        parts(TRAINER, ROLLOUT, layers=layers(block=4)),
        "layers: given can never be placed here; leave it out for a job with parts; each part has its own slice_size and level",
    ),
    "a part that cannot be cut": Case(
        cluster(),
        parts(TRAINER, JobPart(name="rollout", nodes=10, slice_size=4)),
        "parts[1].nodes: 10 can never be placed here; give a multiple of slice_size (4), or ask for a tail slice of 2",
    ),
}


@pytest.mark.parametrize("sentence", [*LEVELS, *LAYERS, *PLANS, *EXCLUSIVE, *PARTS])
def test_asking(sentence: str) -> None:
    space, request, expected = (LEVELS | LAYERS | PLANS | EXCLUSIVE | PARTS)[sentence]
    outcome = place(space, request, Policy())
    told = (
        explain(outcome) if isinstance(outcome, Refusal) else " ".join(f"{part.domain}:{part.gpus or len(part.nodes)}" for part in outcome)
    )
    assert told == expected


def test_a_domain_that_exclusive_work_has_closed_is_nobody_elses() -> None:
    space = cluster()
    space.closed = 0b11
    for request, first in (
        (ask(1), "r3"),
        (ask(gpus=1), "r3"),
        (ask(16, exclusive=True), "r3"),
        (ask(18, level="rack", mode=REQUIRED), "r3"),
    ):
        outcome = place(space, request, Policy())
        assert isinstance(outcome, tuple)
        assert outcome[0].domain == first


def test_where_a_node_failed_of_late_goes_last_but_not_at_the_price_of_a_spare_or_a_block() -> None:
    space = cluster(r1=8, r2=8)
    assert place(space, ask(8, spares=0), Policy(), recent=0b1) == place(space, ask(8, spares=0), Policy(), recent=0b101)
    outcome = place(space, ask(8, spares=0), Policy(), recent=0b11)
    assert isinstance(outcome, tuple)
    assert outcome[0].domain == "r3"  # rather a whole rack than one that has just failed
    outcome = place(cluster(r2=16, r3=16, r4=16), ask(32), Policy(), recent=0b110000)
    assert isinstance(outcome, tuple)
    assert [part.domain for part in outcome] == ["r7", "r8"]
    outcome = place(cluster(r2=16, r3=16, r4=16, r8=16), ask(48), Policy(), recent=0b110000)
    assert isinstance(outcome, tuple)
    assert [part.domain for part in outcome] == ["r5", "r6", "r7"]  # one block, all spares


def test_of_equal_domains_the_one_in_the_most_broken_block_goes_first() -> None:
    outcome = place(cluster(r5=3), ask(16), Policy())
    assert isinstance(outcome, tuple)
    assert outcome[0].domain == "r6"
    outcome = place(cluster(r5=3), ask(gpus=1), Policy(target_spares=0))
    assert isinstance(outcome, tuple)
    assert outcome[0].domain == "r5"


def test_a_level_whose_racks_hold_two_domains() -> None:
    sites = [
        Site(name=f"d{d}-n{n}", block="b1", rack=f"r{(d + 1) // 2}", domain=f"d{d}", gpus=4) for d in range(1, 7) for n in range(1, 10)
    ]
    space = Space(build_topology(sites))
    for index in range(len(sites)):
        space.set_placeable(index, placeable=True)
    space.take_mask(0, 0b1)
    for mode, expected in ((REQUIRED, ["d3", "d4"]), (PREFERRED, ["d3", "d4"]), (LevelMode.ANY, ["d2", "d3"])):
        outcome = place(space, ask(18, slice_size=9, spares=0, level="rack", mode=mode), Policy())
        assert isinstance(outcome, tuple)
        assert [part.domain for part in outcome] == expected
    three = place(space, ask(27, slice_size=9, spares=0, level="rack", mode=REQUIRED), Policy())
    assert isinstance(three, Refusal)
    assert explain(three) == "needs 1 rack with 27 in slices of 9; best is r2 with 18; 53 nodes free in 6 domains"


def test_the_part_of_each_slice_follows_from_the_request() -> None:
    request = parts(ROLLOUT, TRAINER)
    outcome = place(cluster(), request, Policy())
    assert isinstance(outcome, tuple)
    assert parts_of_slices(request, [len(part.nodes) for part in outcome]) == ("rollout",) * 3 + ("trainer",) * 2
    assert parts_of_slices(ask(32), (16, 16)) == ("", "")


def test_spares_that_a_domain_owes_are_kept_from_parts_that_are_small_together() -> None:
    space = want(space_of({"r1": 6, "r2": 3}), "r1")
    small = parts(JobPart(name="a", nodes=3, max_slice=2), JobPart(name="b", nodes=4, max_slice=2), spares=0)
    outcome = place(space, small, Policy())
    assert isinstance(outcome, tuple)
    assert sum(len(part.nodes) for part in outcome if part.domain == "r1") == 4
