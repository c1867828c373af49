"""Watching a log while it is folded."""

from __future__ import annotations

import pytest

from clusters.domain.events import Payload, PolicyActivated
from clusters.domain.evolve import evolve
from clusters.domain.health_events import (
    NodeChecked,
    NodeCheckRequested,
    NodeDegraded,
    NodeDraining,
    NodeFailed,
    NodeQuarantined,
    NodeRecovered,
    NodeReleased,
    NodeUndrained,
    RackStateChanged,
    RepairFinished,
    RepairStarted,
)
from clusters.domain.inventory_events import NodeAbsent, NodeChanged, NodeRegistered, NodeRemoved
from clusters.domain.job_events import JobFinished, JobPlaced, JobSubmitted, SliceAssignment, WorkStarted
from clusters.domain.jobs import JobKind, JobRequest
from clusters.domain.policy import Policy
from clusters.domain.racks import RackState
from clusters.domain.state import ClusterState
from scheduling.domain.capacity.advice import JobShape
from scheduling.domain.capacity.history import Level
from scheduling.domain.capacity.watch import Watch, watch_log
from tests.domain.clusters.logs import Log, cluster, node_names


def spells(log: Log, now: int) -> dict[str, dict[Level, int]]:
    watch, _ = watch_log(log.events)
    return {name: dict(times.spells) for name, times in watch.history.observed(now).domains.items()}


def one_rack() -> Log:
    return cluster(racks=1, nodes=4)


@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        (NodeFailed(node="r1-n1", reason="x"), NodeRecovered(node="r1-n1", reason="x")),
        (NodeDraining(node="r1-n1", reason="x"), NodeUndrained(node="r1-n1", reason="x")),
        (RepairStarted(node="r1-n1"), RepairFinished(node="r1-n1")),
        (NodeQuarantined(node="r1-n1", owner="ada", reason="x", exit_rule="y"), NodeReleased(node="r1-n1", reason="x")),
    ],
    ids=lambda payload: type(payload).__name__,
)
def test_whatever_keeps_new_work_off_a_node_makes_it_unavailable(begins: Payload, ends: Payload) -> None:
    log = one_rack().add(begins, at=10).add(ends, at=25)
    assert spells(log, 40) == {"r1": {Level(4, 0): 10 + 15, Level(4, 1): 15}}


def test_a_rack_that_takes_no_work_makes_its_nodes_unavailable() -> None:
    log = one_rack().add(RackStateChanged(rack="r1", state=RackState.OUT), at=10)
    log.add(RackStateChanged(rack="r1", state=RackState.OPEN), at=25)
    assert spells(log, 40) == {"r1": {Level(4, 0): 10 + 15, Level(4, 4): 15}}


def checked(log: Log, *, passed: bool) -> Log:
    """A node fails at 10, is repaired at 20, and checked at 30."""
    log.state.connector = "simulated"
    log.add(NodeFailed(node="r1-n1", reason="x"), at=10).add(RepairFinished(node="r1-n1"), at=20)
    log.add(NodeCheckRequested(node="r1-n1", number=1), at=20)
    return log.add(NodeChecked(node="r1-n1", number=1, passed=passed), at=30)


def seen(log: Log) -> tuple[dict[Level, int], int]:
    """Watched from the first event on; the connector was set by hand."""
    watch, state = Watch(), ClusterState()
    for event in log.events:
        evolve(state, event)
        state.connector = "simulated"
        watch.note(state, event)
    times = watch.history.observed(40).domains["r1"]
    return dict(times.spells), times.interruptions


def test_a_node_is_unavailable_until_its_check_has_passed() -> None:
    assert seen(checked(one_rack(), passed=True)) == ({Level(4, 0): 10 + 10, Level(4, 1): 20}, 1)


def test_a_check_that_fails_finds_what_failed_before_and_is_no_new_interruption() -> None:
    assert seen(checked(one_rack(), passed=False)) == ({Level(4, 0): 10, Level(4, 1): 30}, 1)


def test_a_policy_that_asks_for_no_checks_makes_nodes_available() -> None:
    log = one_rack()
    log.state.connector = "simulated"
    log.add(NodeFailed(node="r1-n1", reason="x"), at=10).add(RepairFinished(node="r1-n1"), at=20)
    log.add(PolicyActivated(version=2, policy=Policy(check_repaired=False), reason="", by="ada"), at=30)
    assert seen(log) == ({Level(4, 0): 10 + 10, Level(4, 1): 20}, 1)


def test_a_degraded_node_is_available() -> None:
    assert spells(one_rack().add(NodeDegraded(node="r1-n1", reason="x"), at=10), 40) == {"r1": {Level(4, 0): 40}}


def test_two_reasons_at_once_are_one_unavailable_node() -> None:
    log = one_rack().add(NodeFailed(node="r1-n1", reason="x"), at=10).add(RepairStarted(node="r1-n1"), at=20)
    log.add(RepairFinished(node="r1-n1"), at=30)
    assert spells(log, 40) == {"r1": {Level(4, 0): 20, Level(4, 1): 20}}


def test_an_absent_node_is_unavailable_and_a_removed_one_no_longer_counts() -> None:
    log = one_rack().add(NodeAbsent(node="r1-n1"), at=10).add(NodeRemoved(node="r1-n1", reason="x"), at=20)
    assert spells(log, 40) == {"r1": {Level(4, 0): 10, Level(4, 1): 10, Level(3, 0): 20}}


def test_a_node_that_moves_to_another_domain_leaves_the_first() -> None:
    log = one_rack().add(NodeChanged(node="r1-n1", rack="r1", domain="r1b", gpus=4), at=10)
    assert spells(log, 40) == {"r1": {Level(4, 0): 10, Level(3, 0): 30}, "r1b": {Level(1, 0): 30}}


def test_a_node_whose_domain_is_unknown_is_left_out() -> None:
    log = one_rack().add(NodeRegistered(node="odd", rack="r1", domain=None, gpus=4, problem="no clique"), at=0)
    log.add(NodeFailed(node="odd", reason="x"), at=10)
    watch, _ = watch_log(log.events)
    seen = watch.history.observed(40)
    assert seen.domains["r1"].spells == {Level(4, 0): 40}
    assert seen.domains["r1"].interruptions == 0


def test_failures_are_counted_when_they_are_new() -> None:
    log = one_rack().add(NodeFailed(node="r1-n1", reason="x"), at=10).add(NodeFailed(node="r1-n1", reason="again"), at=11)
    log.add(NodeRecovered(node="r1-n1", reason="x"), at=20).add(NodeFailed(node="r1-n1", reason="x"), at=30)
    watch, _ = watch_log(log.events)
    assert watch.history.observed(40).domains["r1"].interruptions == 2


def test_watching_on_the_way_is_watching_from_the_log() -> None:
    log = one_rack()
    watch = Watch()
    for event in log.events:
        watch.note(log.state, event)
    log.add(NodeFailed(node="r1-n2", reason="x"), at=10)
    watch.note(log.state, log.events[-1])
    again, state = watch_log(log.events)
    assert watch.history.observed(30).domains["r1"].spells == again.history.observed(30).domains["r1"].spells
    assert state.seq == log.state.seq


def training(nodes: int | None = None, gpus: int | None = None, slice_size: int | None = None) -> JobRequest:
    return JobRequest(name="work", kind=JobKind.TRAINING, nodes=nodes, gpus=gpus, slice_size=slice_size)


def place(log: Log, request: JobRequest, part: SliceAssignment, at: int) -> str:
    log.add(JobSubmitted(request=request, submitted_by="ada"), at=at)
    job = f"j{len(log.events):06d}"
    log.add(JobPlaced(job=job, generation=1, slices=(part,)), at=at)
    return job


def test_the_mix_is_the_node_time_of_each_shape_of_job() -> None:
    log = cluster(racks=2)
    first = place(log, training(4), SliceAssignment(domain="r1", nodes=node_names(1, 1, 4)), at=10)
    place(log, training(gpus=8, slice_size=2), SliceAssignment(domain="r2", nodes=node_names(2, 1, 2)), at=20)
    place(log, training(gpus=1), SliceAssignment(domain="r1", nodes=node_names(1, 9, 9), gpus=(0,)), at=20)
    log.add(WorkStarted(job=first, generation=1, nodes=node_names(1, 1, 4)), at=11)
    log.add(JobFinished(job=first, generation=1), at=30)
    watch, _ = watch_log(log.events)
    assert watch.mix(50) == {JobShape(nodes=4): 4 * 20, JobShape(nodes=2, unit=2): 2 * 30}


def test_an_empty_log_shows_nothing() -> None:
    watch, state = watch_log(())
    assert (watch.history.observed(5).domains, watch.mix(5), state.seq) == ({}, {}, 0)
