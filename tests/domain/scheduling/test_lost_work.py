"""The books of lost work: what is rolled back and what stands still, by cause and team, each disruption once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.domain import job_events as ev
from clusters.domain.commands import CancelJob, NodeVerb, ReportCheckpoint
from clusters.domain.decision import Refusal
from clusters.domain.dump import dump_state, load_state
from clusters.domain.ids import HOUR, MINUTE, SECOND, Instant
from clusters.domain.jobs import Recovery
from clusters.domain.lost_work import LossCause, since_checkpoint
from scheduling.domain.lost_work import rolled_back
from tests.support.world import World, ask, racks

GPUS = 4  # of each node
PEER = {"recovery": Recovery.PEER, "checkpoint_interval_s": 600}
BACK = {"recovery": Recovery.CHECKPOINT, "checkpoint_interval_s": 600}


def lose(world: World, job: str, *slots: int, at: Instant) -> None:
    """Nodes of the first slice die, and a pass looks after it."""
    world.now = at
    nodes = [world.job(job).slices[0].nodes[slot] for slot in slots]
    for node in nodes:
        assert node is not None
        world.mark(node, NodeVerb.FAIL)


def resume(world: World, at: Instant) -> None:
    world.now = at
    world.settle()


def booked(world: World) -> list[tuple[LossCause, int, int]]:
    """(cause, rollback, stall) of each booking, in GPU-seconds."""
    events = (event.payload for event in world.log.events)
    return [(lost.cause, lost.rollback_gpu_s, lost.stall_gpu_s) for lost in events if isinstance(lost, ev.WorkLost)]


def checkpoint(world: World, job: str, step: int, at: Instant, **fields: Any) -> Any:
    world.now = at
    return world.do(ReportCheckpoint(job=job, step=step, by="ada", **fields))


def test_from_a_peer_only_the_lost_node_is_rolled_back_and_the_others_stand_still() -> None:
    world = World(racks(2))
    job = world.run(ask(16, team="vision", **PEER))
    checkpoint(world, job.id, 100, at=10 * MINUTE)
    lose(world, job.id, 3, at=12 * MINUTE)
    resume(world, at=12 * MINUTE + 30 * SECOND)
    assert booked(world) == [(LossCause.NODE_FAILED, 2 * 60 * GPUS, 15 * 30 * GPUS)]
    assert world.state.lost_work == {("vision", "node-failed"): (480, 1800)}
    assert (job.rollback_gpu_s, job.stall_gpu_s) == (480, 1800)


def test_from_a_checkpoint_the_whole_job_is_rolled_back_once_however_many_nodes_it_loses() -> None:
    world = World(racks(2))
    job = world.run(ask(16, **BACK))
    checkpoint(world, job.id, 100, at=10 * MINUTE)
    lose(world, job.id, 3, 5, at=12 * MINUTE)
    resume(world, at=13 * MINUTE)
    # 15 nodes still stood when the first was lost.
    assert booked(world) == [(LossCause.NODE_FAILED, 16 * 2 * 60 * GPUS, 15 * 60 * GPUS)]
    lose(world, job.id, 0, at=14 * MINUTE)  # a minute after it went back: no more than that minute can be lost again
    resume(world, at=14 * MINUTE)
    assert booked(world)[1:] == [(LossCause.NODE_FAILED, 16 * 60 * GPUS, 0)]


def test_a_slice_that_moves_leaves_behind_what_its_nodes_held() -> None:
    world = World(racks(2))
    job = world.run(ask(16, **PEER))
    checkpoint(world, job.id, 1, at=MINUTE)
    lose(world, job.id, 0, 1, 2, at=2 * MINUTE)
    resume(world, at=3 * MINUTE)
    assert job.moves == 1
    assert booked(world) == [(LossCause.NODE_FAILED, 16 * 60 * GPUS, 15 * 60 * GPUS)]


def test_a_swap_that_starts_while_another_slot_is_lost_ends_nothing() -> None:
    world = World(racks(2))
    job = world.run(ask(16, **PEER))
    lose(world, job.id, 0, at=2 * MINUTE)
    world.run_pass()  # its spare is to start
    lose(world, job.id, 1, 2, at=2 * MINUTE)
    world.now = 3 * MINUTE
    world.connect()  # it does
    assert job.disruption is not None
    resume(world, at=4 * MINUTE)
    assert (job.swaps, job.moves) == (1, 1)
    assert [(cause, stall) for cause, _, stall in booked(world)] == [(LossCause.NODE_FAILED, 15 * 2 * 60 * GPUS)]


def test_work_that_was_not_running_yet_loses_nothing() -> None:
    world = World(racks(1))
    job = world.submit(ask(16))
    world.run_pass()
    lose(world, job, 0, at=0)
    resume(world, at=0)
    assert booked(world) == []
    assert world.job(job).disruption is None


def test_a_preempted_job_loses_its_work_and_nothing_while_it_waits() -> None:
    world = World(racks(1))
    job = world.run(ask(16, **BACK))
    world.now = 5 * MINUTE
    stop = ev.StopRequested(
        job=job.id, generation=job.generation, nodes=tuple(job.held_nodes), after=ev.AfterStop.WAITING, reason="makes room"
    )
    world.add(stop, source="scheduler")
    world.now = HOUR
    world.settle()
    assert booked(world) == [(LossCause.PREEMPTED, 16 * 5 * 60 * GPUS, 0)]


def test_a_cancelled_job_books_how_long_it_stood_still_though_it_is_gone_by_then() -> None:
    world = World(racks(1))
    job = world.run(ask(16, **PEER))
    lose(world, job.id, 0, 1, 2, at=MINUTE)
    world.run_pass()  # it stalls: there is no other rack
    world.now = 3 * MINUTE
    world.do(CancelJob(job=job.id, by="ada"))
    world.settle()
    assert job.id not in world.state.jobs
    assert booked(world) == [(LossCause.NODE_FAILED, 3 * 60 * GPUS, 15 * 120 * GPUS)]
    assert world.state.unbooked == []


def test_work_that_stops_on_a_well_node_is_a_cause_of_its_own() -> None:
    world = World(racks(1))
    job = world.run(ask(16, **PEER))
    world.now = MINUTE
    node = job.slices[0].nodes[0]
    assert node is not None
    world.add(ev.WorkStopped(job=job.id, generation=1, nodes=(node,), reason="killed"))
    world.settle()
    assert [cause for cause, _, _ in booked(world)] == [LossCause.WORK_STOPPED]


# ---- checkpoints


def test_a_checkpoint_of_another_generation_or_of_a_job_without_nodes_is_refused() -> None:
    world = World(racks(1))
    waiting = world.submit(ask(1))
    refused = checkpoint(world, waiting, 1, at=0)
    assert isinstance(refused, Refusal)
    assert refused.code == "state"
    job = world.run(ask(2))
    refused = checkpoint(world, job.id, 1, at=0, generation=7)
    assert isinstance(refused, Refusal)
    assert "generation 7" in refused.message
    assert isinstance(checkpoint(world, "j999999", 1, at=0), Refusal)
    assert job.checkpoint_at is None


def test_a_checkpoint_from_a_time_to_come_counts_as_one_of_now_and_an_older_one_changes_nothing() -> None:
    world = World(racks(1))
    job = world.run(ask(2))
    checkpoint(world, job.id, 5, at=HOUR)
    world.now = 2 * HOUR
    world.do(ReportCheckpoint(job=job.id, step=6, by="ada", at=9 * HOUR))
    assert (job.checkpoint_at, job.checkpoint_step) == (2 * HOUR, 6)
    world.do(ReportCheckpoint(job=job.id, step=4, by="ada", at=HOUR))
    assert (job.checkpoint_at, job.checkpoint_step) == (2 * HOUR, 6)


@pytest.mark.parametrize(
    ("checkpoint_at", "now", "lost"),
    [
        (None, 15 * MINUTE, 15 * MINUTE),  # none yet: since the start
        (10 * MINUTE, 15 * MINUTE, 5 * MINUTE),
        (None, 50 * MINUTE, 10 * MINUTE),  # for two intervals nothing: it is taken to keep them without saying so
        (10 * MINUTE, 50 * MINUTE, 10 * MINUTE),
        (20 * MINUTE, 10 * MINUTE, 0),  # clocks
    ],
)
def test_what_is_lost_is_counted_from_the_last_checkpoint(checkpoint_at: Instant | None, now: Instant, lost: int) -> None:
    assert since_checkpoint(ask(1, **BACK), 0, checkpoint_at, now) == lost


@given(st.integers(0, 10**12), st.none() | st.integers(0, 10**12), st.integers(0, 10**12), st.none() | st.integers(1, 10**6))
def test_no_more_is_lost_than_was_run_nor_than_two_intervals(began: int, saved: int | None, now: int, interval: int | None) -> None:
    request = ask(1, checkpoint_interval_s=interval)
    lost = since_checkpoint(request, began, saved, now)
    assert 0 <= lost <= max(0, now - began)
    assert lost < 2 * (HOUR if interval is None else interval * SECOND)
    assert since_checkpoint(request, None, saved, now) == 0


# ---- whatever happens


@given(
    peer=st.booleans(),
    steps=st.lists(
        st.tuples(st.sampled_from(["lose", "lose", "save", "settle", "repair"]), st.integers(0, 15), st.integers(0, 3_000)), max_size=12
    ),
)
def test_every_disruption_is_booked_once_and_the_totals_are_the_sum_of_the_bookings(peer: bool, steps: list[tuple[str, int, int]]) -> None:
    world = World(racks(2))
    job = world.run(ask(16, team="a", **(PEER if peer else BACK)))
    for what, number, seconds in steps:
        world.now += seconds * SECOND
        if what == "lose" and (node := job.slices[0].nodes[number]) is not None:
            world.mark(node, NodeVerb.FAIL)
        elif what == "save":
            world.do(ReportCheckpoint(job=job.id, step=number, by="ada"))
        elif what == "repair":
            for name in [node.name for node in world.state.nodes.values() if not node.placeable]:
                world.mark(name, NodeVerb.REPAIR)
        else:
            world.settle()
    for name in [node.name for node in world.state.nodes.values() if not node.placeable]:
        world.mark(name, NodeVerb.REPAIR)
    world.settle()
    assert world.state.unbooked == []
    assert job.disruption is None
    bookings = booked(world)
    assert all(rollback >= 0 and stall >= 0 for _, rollback, stall in bookings)
    assert sum(rollback for _, rollback, _ in bookings) == job.rollback_gpu_s == sum(spent[0] for spent in world.state.lost_work.values())
    assert sum(stall for _, _, stall in bookings) == job.stall_gpu_s == sum(spent[1] for spent in world.state.lost_work.values())
    plain = dump_state(world.state)
    assert dump_state(load_state(plain)) == plain


def test_an_open_disruption_and_what_is_not_booked_yet_survive_a_snapshot() -> None:
    world = World(racks(1))
    job = world.run(ask(16, **PEER))
    lose(world, job.id, 0, 1, 2, at=MINUTE)
    world.run_pass()
    plain = dump_state(world.state)
    assert job.disruption is not None
    assert dump_state(load_state(plain)) == plain
    world.do(CancelJob(job=job.id, by="ada"))
    assert world.state.unbooked
    plain = dump_state(world.state)
    assert load_state(plain).unbooked == world.state.unbooked


def test_the_price_of_moving_a_slice_is_what_the_books_would_charge() -> None:
    world = World(racks(2))
    job = world.run(ask(32, **PEER))
    checkpoint(world, job.id, 1, at=10 * MINUTE)
    assert rolled_back(world.state, job, 0, 11 * MINUTE) == 16 * GPUS * MINUTE
