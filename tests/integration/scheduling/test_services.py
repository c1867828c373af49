"""The services on the real log: what they answer, what they store, and what happens when two act at once or one asks twice."""

from __future__ import annotations

import pytest

from clusters.domain.commands import NodeVerb
from clusters.domain.decision import Refusal
from clusters.domain.errors import SourceConflict, UnknownCluster
from clusters.domain.events import Event, NewEvent
from clusters.domain.invariants import check
from clusters.domain.job_events import JobFinished, WorkStarted, WorkStopped
from clusters.domain.jobs import JobState
from clusters.domain.state import Job
from clusters.eventlog.live import live
from clusters.eventlog.models import GpuClaim
from clusters.eventlog.store import append_facts, create_cluster, default_log
from scheduling.services import job_cancel, job_hold, job_release, job_submit, node_mark, run_pass
from tests.support.world import ask, inventory, racks

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> str:
    """Four racks of 18."""
    name = "services"
    create_cluster(name)
    facts = [NewEvent(payload, 0, "import", str(number)) for number, payload in enumerate(inventory(racks(4)))]
    append_facts(name, facts)
    return name


def _submit(cluster: str, nodes: int, request_id: str | None = None) -> str:
    outcome = job_submit(cluster=cluster, request=ask(nodes), by="ada", request_id=request_id)
    assert isinstance(outcome, str), outcome
    return outcome


def _job(cluster: str, name: str) -> Job:
    with live(cluster).reading() as state:
        assert check(state) == []
        return state.jobs[name]


def _tell(cluster: str, *facts: WorkStarted | WorkStopped | JobFinished) -> None:
    head = default_log().head(cluster)
    append_facts(cluster, [NewEvent(fact, 0, "fleet", f"{head}/{number}") for number, fact in enumerate(facts)])


def _events(cluster: str, after: int) -> list[Event]:
    return list(default_log().read(cluster, after))


def test_a_job_runs_from_submission_to_its_end(cluster: str) -> None:
    name = _submit(cluster, 32)
    assert run_pass(cluster) == 1
    job = _job(cluster, name)
    assert [len(part.nodes) for part in job.slices] == [16, 16]
    assert GpuClaim.objects.count() == 32 * 4
    nodes = tuple(job.held_nodes)
    _tell(cluster, WorkStarted(job=name, generation=1, nodes=nodes))
    assert _job(cluster, name).state is JobState.RUNNING
    _tell(cluster, JobFinished(job=name, generation=1), WorkStopped(job=name, generation=1, nodes=nodes))
    assert GpuClaim.objects.count() == 0
    assert run_pass(cluster) == 0
    with live(cluster).reading() as state:
        assert state.ended == {name: JobState.FINISHED}


def test_events_say_who_decided_them(cluster: str) -> None:
    head = default_log().head(cluster)
    _submit(cluster, 1)
    run_pass(cluster)
    assert [(event.kind, event.source) for event in _events(cluster, head)] == [("JobSubmitted", "user:ada"), ("JobPlaced", "scheduler")]


def test_a_refused_submission_stores_nothing(cluster: str) -> None:
    head = default_log().head(cluster)
    outcome = job_submit(cluster=cluster, request=ask(100), by="ada")
    assert isinstance(outcome, Refusal)
    assert outcome.code == "infeasible"
    assert default_log().head(cluster) == head


def test_the_same_request_again_is_the_same_job_and_another_under_its_id_is_a_conflict(cluster: str) -> None:
    first = _submit(cluster, 4, "r-1")
    head = default_log().head(cluster)
    assert _submit(cluster, 4, "r-1") == first
    assert default_log().head(cluster) == head
    with pytest.raises(SourceConflict):
        _submit(cluster, 5, "r-1")
    assert _submit(cluster, 4) != _submit(cluster, 4)


def test_a_failed_node_is_swapped_by_the_next_pass(cluster: str) -> None:
    name = _submit(cluster, 16)
    run_pass(cluster)
    assert node_mark(cluster=cluster, node="r1-n1", verb=NodeVerb.FAIL, by="op", reason="smoke") is None
    assert run_pass(cluster) == 1
    assert _job(cluster, name).slices[0].nodes[0] == "r1-n17"
    refusal = node_mark(cluster=cluster, node="r1-n1", verb=NodeVerb.FAIL, by="op")
    assert refusal is not None
    assert refusal.code == "state"


def test_jobs_are_held_released_and_cancelled(cluster: str) -> None:
    name = _submit(cluster, 1)
    assert job_hold(cluster=cluster, job=name, by="ada") is None
    assert run_pass(cluster) == 0
    assert job_release(cluster=cluster, job=name, by="ada", reason="ready") is None
    run_pass(cluster)
    assert job_cancel(cluster=cluster, job=name, by="ada") is None
    _tell(cluster, WorkStopped(job=name, generation=1, nodes=tuple(_job(cluster, name).held_nodes)))
    assert run_pass(cluster) == 1
    refusal = job_cancel(cluster=cluster, job=name, by="ada")
    assert refusal == Refusal(code="state", message=f"job {name} has already been cancelled")


def test_a_pass_goes_on_until_nothing_is_left_to_do(cluster: str) -> None:
    for _ in range(140):
        assert isinstance(job_submit(cluster=cluster, request=ask(gpus=1), by="ada"), str)
    assert run_pass(cluster) == 140
    assert run_pass(cluster) == 0


def test_a_long_name_of_a_user_still_makes_a_source(cluster: str) -> None:
    head = default_log().head(cluster)
    assert isinstance(job_submit(cluster=cluster, request=ask(1), by="a" * 150), str)
    (event,) = _events(cluster, head)
    assert event.source == "user:" + "a" * 59


def test_an_unknown_cluster_is_an_error() -> None:
    with pytest.raises(UnknownCluster):
        run_pass("nowhere")
