"""The two partitions: precedence of conditions, and what free nodes are kept for."""

from __future__ import annotations

import pytest

from clusters.domain.books import Condition, Use
from clusters.domain.books_of import domain_uses, read_books
from clusters.domain.health_events import NodeDraining, NodeFailed, NodeQuarantined, RepairStarted
from clusters.domain.job_events import AfterStop, JobPlaced, JobSubmitted, SliceAssignment, StopRequested, WorkStopped
from clusters.domain.jobs import JobState
from clusters.domain.policy import Policy
from clusters.domain.setting import SparesScope
from tests.domain.clusters.logs import Log, cluster, node_names, request


def _placed(log: Log, rack: int, first: int, last: int) -> str:
    nodes = node_names(rack, first, last)
    log.add(JobSubmitted(request=request(nodes=len(nodes)), submitted_by="ada"))
    job = f"j{log.state.seq:06d}"
    log.add(JobPlaced(job=job, generation=1, slices=(SliceAssignment(domain=f"r{rack}", nodes=nodes),)))
    return job


def _counts(log: Log) -> dict[Use, int]:
    return {use: count for use, count in read_books(log.sound()).use.items() if count}


def test_an_empty_domain_owes_no_spares_and_holds_one_idle_slice() -> None:
    assert _counts(cluster(racks=1)) == {Use.IDLE: 16, Use.STRANDED: 2}


def test_a_multi_node_job_makes_its_domain_owe_two_spares() -> None:
    log = cluster(racks=1)
    _placed(log, 1, 1, 16)
    assert _counts(log) == {Use.ALLOCATED: 16, Use.SPARE: 2}


def test_a_job_on_one_node_makes_its_domain_owe_nothing() -> None:
    log = cluster(racks=1)
    _placed(log, 1, 1, 1)
    assert _counts(log) == {Use.ALLOCATED: 1, Use.IDLE: 16, Use.STRANDED: 1}


def test_spares_are_the_last_free_nodes_and_failed_free_ones_are_out() -> None:
    log = cluster(racks=1)
    _placed(log, 1, 1, 14)
    log.add(NodeFailed(node="r1-n18", reason="test"))
    assert domain_uses(log.sound(), 0)[14:] == [Use.STRANDED, Use.SPARE, Use.SPARE, Use.OUT]


def test_with_scope_all_every_domain_owes_spares() -> None:
    log = cluster(racks=1, policy=Policy(spares_scope=SparesScope.ALL))
    assert _counts(log) == {Use.IDLE: 16, Use.SPARE: 2}


@pytest.mark.parametrize(("nodes", "slice_size", "idle"), [(9, None, 8), (72, None, 64), (1, None, 1), (18, 8, 16), (9, 16, 0)])
def test_idle_counts_whole_slices_of_the_policy(nodes: int, slice_size: int | None, idle: int) -> None:
    log = cluster(racks=1, nodes=nodes, policy=Policy(slice_size=slice_size))
    assert read_books(log.sound()).use[Use.IDLE] == idle


def test_a_node_has_the_first_condition_that_holds() -> None:
    log = cluster(racks=1)
    log.add(NodeDraining(node="r1-n1", reason="work"))
    assert log.state.nodes["r1-n1"].condition is Condition.DRAINING
    log.add(NodeQuarantined(node="r1-n1", owner="ops", reason="flaps", exit_rule="by hand"))
    assert log.state.nodes["r1-n1"].condition is Condition.QUARANTINED
    log.add(RepairStarted(node="r1-n1"))
    assert log.state.nodes["r1-n1"].condition is Condition.IN_REPAIR
    log.add(NodeFailed(node="r1-n1", reason="dead"))
    assert log.sound().nodes["r1-n1"].condition is Condition.FAILED


def test_nodes_of_a_job_that_is_to_stop_are_stopping_until_it_has_stopped() -> None:
    log = cluster(racks=1)
    job = _placed(log, 1, 1, 16)
    log.add(StopRequested(job=job, generation=1, nodes=node_names(1, 1, 16), after=AfterStop.CANCELLED, reason="test"))
    assert _counts(log) == {Use.STOPPING: 16, Use.STRANDED: 2}
    log.add(WorkStopped(job=job, generation=1, nodes=node_names(1, 1, 16)))
    assert _counts(log) == {Use.IDLE: 16, Use.STRANDED: 2}
    assert log.state.jobs[job].state is JobState.STOPPING
    assert job in log.state.stopped


def test_a_gpu_job_shares_its_node() -> None:
    log = cluster(racks=1)
    log.add(JobSubmitted(request=request(nodes=None, gpus=1), submitted_by="ada"))
    job = f"j{log.state.seq:06d}"
    log.add(JobPlaced(job=job, generation=1, slices=(SliceAssignment(domain="r1", nodes=("r1-n3",), gpus=(2,)),)))
    assert _counts(log) == {Use.SHARED: 1, Use.IDLE: 16, Use.STRANDED: 1}
    assert log.state.space.gpus_left(log.state.topology.index["r1-n3"]) == 0b1011
