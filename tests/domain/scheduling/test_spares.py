"""Spares against target: what is counted, what a repair does, and which move would restore a domain."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.domain.books import Use
from clusters.domain.books_of import read_books
from clusters.domain.commands import NodeVerb, SetRackState
from clusters.domain.health_events import NodeCheckRequested
from clusters.domain.ids import HOUR, MINUTE
from clusters.domain.jobs import JobKind, Recovery
from clusters.domain.policy import Policy
from clusters.domain.racks import RackState
from clusters.domain.setting import SparesScope
from clusters.domain.state import ClusterState
from scheduling.domain.lost_work import rolled_back
from scheduling.domain.spares import DomainSpares, Restoration, domain_spares, restorations
from tests.support.world import World, ask, racks


def fail(world: World, *nodes: str) -> None:
    for node in nodes:
        world.mark(node, NodeVerb.FAIL)
    world.settle()


def short(state: ClusterState) -> dict[str, tuple[int, int]]:
    """(target, present) by domain."""
    return {spares.domain: (spares.target, spares.present) for spares in domain_spares(state)}


def moved(restoration: Restoration) -> list[tuple[str, int, str]]:
    return [(move.job, move.slice, move.to.domain) for move in restoration.moves]


def one(world: World, now: int | None = None) -> Restoration:
    """The only domain below target."""
    (restoration,) = restorations(world.state, world.now if now is None else now)
    return restoration


# ---- what is counted


def test_domains_with_a_slice_should_have_the_target_and_lack_what_failed() -> None:
    world = World(racks(3))
    world.run(ask(32))
    assert short(world.state) == {"r1": (2, 2), "r2": (2, 2)}
    fail(world, "r1-n5")
    assert short(world.state) == {"r1": (2, 1), "r2": (2, 2)}
    assert DomainSpares(domain="r1", target=2, present=1).missing == 1


def test_with_the_scope_of_all_every_domain_should_have_them_and_a_job_may_ask_for_more() -> None:
    world = World(racks(2), Policy(spares_scope=SparesScope.ALL))
    world.run(ask(12, spares=5))
    assert short(world.state) == {"r1": (5, 5), "r2": (2, 2)}


def test_a_repaired_node_is_a_spare_again_by_the_books_alone() -> None:
    world = World(racks(1))
    world.run(ask(16))
    fail(world, "r1-n3", "r1-n4")
    assert (short(world.state), read_books(world.state).use[Use.SPARE]) == ({"r1": (2, 0)}, 0)
    for present, node in enumerate(("r1-n3", "r1-n4"), 1):
        world.mark(node, NodeVerb.REPAIR)
        assert world.settle() == [NodeCheckRequested(node=node, number=1)]  # nothing else had to be decided
        assert (short(world.state), read_books(world.state).use[Use.SPARE]) == ({"r1": (2, present)}, present)


# ---- what would restore


def test_nothing_is_advised_where_nothing_is_missing() -> None:
    world = World(racks(2))
    world.run(ask(16))
    assert restorations(world.state, world.now) == []


def test_a_slice_may_go_to_a_whole_rack_and_the_domain_then_owes_nothing() -> None:
    world = World(racks(3))
    job = world.run(ask(32))
    fail(world, "r1-n5")
    world.now = HOUR // 2
    found = one(world)
    assert (found.domain, moved(found)) == ("r1", [(job.id, 0, "r3")])
    assert found.cost == 32 * 4 * HOUR // 2  # the whole job goes back
    assert found.moves[0].nodes == tuple(node for node in world.job(job.id).slices[0].nodes if node)


def test_no_work_goes_to_a_rack_whose_maintenance_comes_before_its_end() -> None:
    world = World(racks(3))
    job = world.run(ask(32, expected_run_s=9 * 3_600))
    fail(world, "r1-n5")
    for hours, places in ((4, []), (20, [(job.id, 0, "r3")])):
        world.do(SetRackState(rack="r3", state=RackState.NO_NEW_LONG_JOBS, until=world.now + hours * HOUR, by="op", reason="new pump"))
        assert moved(one(world)) == places


def test_the_cheapest_work_goes() -> None:
    """Two slices share a rack: the one that started later has less to lose."""
    world = World(racks(2))
    first = world.run(ask(8))
    world.now = HOUR // 2
    second = world.run(ask(8))
    assert {part.domain for job in (first, second) for part in job.slices} == {"r1"}
    fail(world, "r1-n18")
    world.now = HOUR
    found = one(world)
    assert moved(found) == [(second.id, 0, "r2")]
    assert found.cost == 8 * 4 * HOUR // 2


def test_work_that_may_not_be_interrupted_stays() -> None:
    world = World(racks(2))
    world.run(ask(8, restartable=False))
    world.run(ask(8, kind=JobKind.INTERACTIVE))
    fail(world, "r1-n1")
    assert one(world) == Restoration(domain="r1", reason="no restartable work runs in it")
    allowed = World(racks(2), Policy(interactive_preemptible=True))
    allowed.run(ask(8, restartable=False))
    session = allowed.run(ask(8, kind=JobKind.INTERACTIVE))
    fail(allowed, "r1-n1")
    assert moved(one(allowed)) == [(session.id, 0, "r2")]


def test_without_another_place_nothing_is_advised() -> None:
    world = World(racks(2))
    world.run(ask(32))
    fail(world, "r1-n5")
    assert one(world) == Restoration(domain="r1", reason="its restartable work has no other place now")


def test_no_domain_may_come_to_lack_more_than_before() -> None:
    """r2 has room for the slice, but not for the spares it brings along."""
    world = World([("r1", "b1", "r1", 18, 4), ("r2", "b1", "r2", 16, 4)])
    world.run(ask(16))
    fail(world, "r1-n5")
    assert one(world).reason == "its restartable work has no other place now"


def test_work_below_a_node_moves_together_with_all_that_shares_its_node() -> None:
    world = World(racks(2))
    small = [world.run(ask(gpus=2, restartable=True)) for _ in range(3)]  # two share the first node
    world.run(ask(14, restartable=False))
    assert short(world.state) == {"r1": (2, 2)}
    fail(world, "r1-n18")
    world.now = 10 * MINUTE
    found = one(world)
    assert moved(found) == [(small[2].id, 0, "r2")]  # alone on its node: half the price of the two
    assert found.cost == 2 * 10 * MINUTE
    fail(world, "r1-n17")
    both = one(world)
    assert moved(both) == [(job.id, 0, "r2") for job in (small[2], *small[:2])]
    assert both.cost == 6 * 10 * MINUTE


def test_the_domain_that_lacks_most_comes_first_and_proofs_may_run_out() -> None:
    world = World(racks(6))
    for _ in range(4):
        world.run(ask(16))
    fail(world, "r1-n1", "r2-n1", "r2-n2", "r3-n1")
    assert [found.domain for found in restorations(world.state, 0)] == ["r2", "r1", "r3"]
    assert [found.domain for found in restorations(world.state, 0, proofs=1)] == ["r2"]


def test_the_price_is_what_the_books_would_charge() -> None:
    def price(run: int, **fields: Any) -> int:
        world = World(racks(2))
        job = world.run(ask(32, **fields))
        return rolled_back(world.state, job, 0, run) // 4

    assert price(90 * MINUTE) == 32 * 90 * MINUTE  # not yet two intervals: nothing is known to be saved
    assert price(10 * HOUR) == 32 * HOUR
    assert price(10 * HOUR, checkpoint_interval_s=600) == 32 * 10 * MINUTE
    assert price(10 * HOUR, recovery=Recovery.PEER) == 16 * HOUR


class TestAnyCluster:
    """Whatever runs and fails: the state is left alone, and what is advised can be done."""

    @given(st.lists(st.tuples(st.integers(1, 20), st.booleans()), max_size=12), st.lists(st.integers(0, 71), max_size=10, unique=True))
    @settings(max_examples=60)
    def test_moves_are_real_and_restore(self, jobs: list[tuple[int, bool]], failures: list[int]) -> None:
        world = World(racks(4), checked=False)
        for nodes, restartable in jobs:
            request = ask(nodes - 3, restartable=restartable) if nodes > 3 else ask(gpus=nodes, restartable=restartable)
            world.submit(request)
        world.settle()
        fail(world, *(world.state.topology.nodes[index].name for index in failures))
        before = {name: copy.deepcopy(getattr(world.state.space, name)) for name in world.state.space.COMPARED}
        found = restorations(world.state, world.now)
        assert {name: getattr(world.state.space, name) for name in world.state.space.COMPARED} == before
        below = {spares.domain for spares in domain_spares(world.state) if spares.missing}
        assert {restoration.domain for restoration in found} <= below
        for restoration in found:
            assert bool(restoration.moves) is not bool(restoration.reason)
            for move in restoration.moves:
                job = world.job(move.job)
                assert job.request.restartable
                assert job.slices[move.slice].domain == restoration.domain != move.to.domain
                for name in move.to.nodes:
                    node = world.state.nodes[name]
                    assert node.placeable
                    assert not node.job
                    assert not node.shares or move.to.gpus
