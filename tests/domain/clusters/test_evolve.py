"""The fold: reports that are late, repeated or of an old generation change nothing; what contradicts the state is an error."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.books import Condition
from clusters.domain.dump import dump_state, load_state
from clusters.domain.errors import BrokenInvariant
from clusters.domain.events import Event, Payload, subject_of
from clusters.domain.evolve import evolve
from clusters.domain.health_events import NodeDegraded, NodeFailed, NodeRecovered, NodeSuspected, NodeUnreachable, RepairFinished
from clusters.domain.job_events import (
    AfterStop,
    JobFinished,
    JobPlaced,
    JobSubmitted,
    NodeSwapped,
    SliceAssignment,
    SliceMoved,
    StopRequested,
    WorkStarted,
    WorkStopped,
)
from clusters.domain.jobs import JobState
from clusters.domain.space_events import SpaceFreed, SpaceReserved
from clusters.domain.state import ClusterState, Job
from tests.domain.clusters.logs import Log, cluster, node_names, request


def _running(log: Log, nodes: tuple[str, ...] = node_names(1, 1, 4)) -> Job:
    log.add(JobSubmitted(request=request(nodes=len(nodes)), submitted_by="ada"))
    job = f"j{log.state.seq:06d}"
    log.add(JobPlaced(job=job, generation=1, slices=(SliceAssignment(domain=nodes[0].split("-")[0], nodes=nodes),)))
    log.add(WorkStarted(job=job, generation=1, nodes=nodes))
    return log.sound().jobs[job]


def _event(log: Log, seq: int, payload: Payload) -> Event:
    base = log.events[-1]
    return base._replace(seq=seq, kind=type(payload).__name__, payload=payload, subject=subject_of(payload))


def test_an_event_folded_before_changes_nothing_and_a_gap_is_an_error() -> None:
    log = cluster()
    before = dump_state(log.state)
    for event in log.events:
        evolve(log.state, event)
    assert dump_state(log.state) == before
    with pytest.raises(BrokenInvariant, match="gap"):
        evolve(log.state, log.events[-1]._replace(seq=len(log.events) + 2))


def test_a_job_runs_once_all_its_nodes_have_started() -> None:
    log = cluster()
    nodes = node_names(1, 1, 4)
    log.add(JobSubmitted(request=request(nodes=4), submitted_by="ada"))
    job = log.state.jobs[f"j{log.state.seq:06d}"]
    log.add(JobPlaced(job=job.id, generation=1, slices=(SliceAssignment(domain="r1", nodes=nodes),)))
    assert job.state is JobState.PLACED
    log.add(WorkStarted(job=job.id, generation=1, nodes=nodes[:2]), at=5)
    assert job.state is JobState.STARTING
    log.add(WorkStarted(job=job.id, generation=1, nodes=nodes[2:]), at=9)
    assert (job.state, job.started_at) == (JobState.RUNNING, 9)


def test_a_fencing_failure_takes_the_node_from_its_job_and_any_other_waits_for_its_work_to_stop() -> None:
    log = cluster()
    job = _running(log)
    log.add(NodeFailed(node="r1-n1", reason="fan"), source="probe")
    assert job.slices[0].nodes[0] == "r1-n1"
    log.add(WorkStopped(job=job.id, generation=1, nodes=("r1-n1",)))
    log.add(NodeFailed(node="r1-n2", reason="dead", fencing=True), source="operator")
    assert job.slices[0].nodes == [None, None, "r1-n3", "r1-n4"]
    assert log.sound().lost == {job.id}


def test_a_swap_fills_the_slot_and_the_job_runs_again_once_the_spare_has_started() -> None:
    log = cluster()
    job = _running(log)
    log.add(NodeFailed(node="r1-n2", reason="dead", fencing=True))
    log.add(NodeSwapped(job=job.id, generation=2, slice=0, slot=1, old="r1-n2", new="r1-n17", reason="dead"))
    assert (job.state, job.slices[0].nodes) == (JobState.STARTING, ["r1-n1", "r1-n17", "r1-n3", "r1-n4"])
    log.add(WorkStarted(job=job.id, generation=1, nodes=("r1-n17",)))
    assert job.state is JobState.STARTING, "a report of the old generation does not start the new node"
    log.add(WorkStarted(job=job.id, generation=2, nodes=("r1-n17",)))
    assert job.state is JobState.RUNNING
    assert log.sound().tally["swaps"] == 1


def test_a_moved_slice_keeps_its_old_nodes_until_their_work_has_stopped() -> None:
    log = cluster()
    job = _running(log)
    log.add(NodeFailed(node="r1-n1", reason="dead", fencing=True))
    log.add(
        SliceMoved(
            job=job.id,
            generation=2,
            slice=0,
            old_domain="r1",
            assignment=SliceAssignment(domain="r2", nodes=node_names(2, 1, 4)),
            released=node_names(1, 2, 4),
            lost=("r1-n1",),
            reason="dead",
        ),
        StopRequested(job=job.id, generation=1, nodes=node_names(1, 2, 4), after=AfterStop.CONTINUES, reason="moved"),
    )
    assert log.sound().nodes["r1-n2"].job == job.id
    log.add(WorkStopped(job=job.id, generation=1, nodes=node_names(1, 2, 4)))
    assert log.sound().nodes["r1-n2"].job == ""
    assert job.slices[0].nodes == list(node_names(2, 1, 4))
    log.add(WorkStopped(job=job.id, generation=1, nodes=node_names(2, 1, 4)))
    assert job.slices[0].nodes == list(node_names(2, 1, 4)), "a stop of the old generation does not touch the new nodes"


def test_a_finish_of_an_old_generation_is_ignored() -> None:
    log = cluster()
    job = _running(log)
    log.add(NodeFailed(node="r1-n1", reason="dead", fencing=True))
    log.add(NodeSwapped(job=job.id, generation=2, slice=0, slot=0, old="r1-n1", new="r1-n17", reason="dead"))
    log.add(JobFinished(job=job.id, generation=1))
    assert job.state is JobState.STARTING


def test_an_ended_job_is_remembered_once_its_nodes_have_stopped() -> None:
    log = cluster()
    job = _running(log)
    log.add(JobFinished(job=job.id, generation=1), JobFinished(job=job.id, generation=1))
    assert job.id in log.sound().jobs
    log.add(WorkStopped(job=job.id, generation=1, nodes=node_names(1, 1, 4)))
    assert job.id not in log.sound().jobs
    assert log.state.ended == {job.id: JobState.FINISHED}
    assert log.state.tally == {"submitted": 1, "finished": 1}


@pytest.mark.parametrize("nodes", [("r1-n1",), ("r1-n5", "r2-n5"), ("r9-n1",)])
def test_a_placement_on_taken_foreign_or_unknown_nodes_breaks_the_fold(nodes: tuple[str, ...]) -> None:
    log = cluster()
    _running(log)
    log.add(JobSubmitted(request=request(nodes=len(nodes)), submitted_by="bob"))
    placement = JobPlaced(job=f"j{log.state.seq:06d}", generation=1, slices=(SliceAssignment(domain="r1", nodes=nodes),))
    with pytest.raises(BrokenInvariant, match=nodes[-1]):
        log.add(placement)


_REPORTS = [
    NodeFailed(node="r1-n1", reason="a"),
    NodeRecovered(node="r1-n1", reason="b"),
    NodeSuspected(node="r1-n1", reason="c"),
    NodeUnreachable(node="r1-n1", reason="d"),
    NodeDegraded(node="r1-n1", reason="e"),
]


@given(st.lists(st.sampled_from(_REPORTS), max_size=6), st.randoms(use_true_random=False))
def test_reports_of_a_sequenced_source_may_come_in_any_order(reports: list[Payload], chance: object) -> None:
    """R17, F06: the rank decides, not the arrival."""
    numbered = list(enumerate(reports))
    shuffled = numbered.copy()
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    outcomes = []
    for order in (numbered, shuffled):
        log = cluster(racks=1, nodes=1)
        for rank, report in order:
            log.add(report, source="probe", source_seq=rank)
        marks = {key: mark.on for key, mark in log.state.nodes["r1-n1"].marks.items()}
        outcomes.append((log.sound().nodes["r1-n1"].condition, marks))
    assert outcomes[0] == outcomes[1]


def test_sources_never_take_back_what_another_said_but_a_repair_does() -> None:
    log = cluster(racks=1)
    log.add(NodeFailed(node="r1-n1", reason="x"), source="a").add(NodeRecovered(node="r1-n1", reason="y"), source="b", at=9)
    assert log.state.nodes["r1-n1"].condition is Condition.FAILED
    log.add(RepairFinished(node="r1-n1"), source="c", at=10)
    assert log.sound().nodes["r1-n1"].condition is Condition.HEALTHY


def test_a_dump_loads_to_a_state_with_the_same_dump_that_folds_on_alike() -> None:
    log = cluster()
    job = _running(log)
    log.add(NodeFailed(node="r1-n2", reason="dead", fencing=True))
    twin = load_state(dump_state(log.state))
    assert dump_state(twin) == dump_state(log.state)
    swap = NodeSwapped(job=job.id, generation=2, slice=0, slot=1, old="r1-n2", new="r1-n17", reason="dead")
    event = _event(log, log.state.seq + 1, swap)
    assert dump_state(evolve(twin, event)) == dump_state(evolve(log.state, event))


def test_what_if_leaves_the_state_equal() -> None:
    log = cluster()
    _running(log)
    before, space = dump_state(log.state), log.state.space.fork()
    fork = log.state.space.fork()
    for index in range(4, 10):
        fork.take(index)
    fork.add_want(1, None)
    fork.set_placeable(20, placeable=False)
    assert dump_state(log.state) == before
    assert all(getattr(log.state.space, name) == getattr(space, name) for name in type(space).COMPARED)
    assert fork.free != space.free


def test_requests_are_frozen() -> None:
    with pytest.raises(AttributeError):
        request().name = "other"  # type: ignore[misc]
    assert replace(request(), name="other").name == "other"
    assert isinstance(ClusterState().policy_version, int)


def test_a_node_that_is_kept_for_two_jobs_stays_kept_when_one_of_them_needs_it_no_more() -> None:
    log = cluster()
    log.add(*(JobSubmitted(request=request(nodes=2), submitted_by="ada") for _ in range(2)))
    first, second = log.state.jobs
    names = node_names(1, 1, 3)
    for job, nodes in ((first, names[:2]), (second, names[1:])):
        log.add(SpaceReserved(job=job, nodes=nodes, starts_at=10, reason="a test"))
    kept = log.sound().space.reserved[0]
    assert kept.bit_count() == 3
    log.add(SpaceFreed(job=first, reason="a test"))
    assert log.sound().space.reserved[0] == kept & ~1
