"""Commands on jobs and nodes: what each leads to in each state, and the refusals in words."""

from __future__ import annotations

import pytest

from clusters.domain.books import Condition
from clusters.domain.commands import CancelJob, ChangePriority, Command, HoldJob, MarkNode, NodeVerb, ReleaseJob, SubmitJob, SubmitJobs
from clusters.domain.decision import Decision, Refusal
from clusters.domain.events import Payload
from clusters.domain.health_events import NodeFailed, NodeQuarantined, RepairStarted
from clusters.domain.job_events import (
    AfterStop,
    JobCancelled,
    JobChanged,
    JobFailed,
    JobFinished,
    JobHeld,
    JobReleased,
    JobSubmitted,
    StopRequested,
)
from clusters.domain.jobs import JobState
from scheduling.domain.decide import decide
from scheduling.domain.job_commands import never_fitting
from tests.support.world import World, ask, racks


def _events(world: World, command: Command) -> tuple[Payload, ...]:
    outcome = world.do(command)
    assert isinstance(outcome, Decision), outcome
    return outcome.events


def _refusal(world: World, command: Command) -> tuple[str, str]:
    outcome = world.do(command)
    assert isinstance(outcome, Refusal), outcome
    return outcome.code, outcome.message


def test_a_job_that_can_be_placed_some_day_is_accepted() -> None:
    world = World(racks(1))
    world.run(ask(16))
    assert _events(world, SubmitJob(request=ask(16), by="ada")) == (JobSubmitted(request=ask(16), submitted_by="ada"),)


def test_a_job_that_can_never_be_placed_is_refused_naming_field_value_and_what_fits() -> None:
    outcome = decide(World(racks(1)).state, SubmitJob(request=ask(64), by="ada"), 0)
    assert isinstance(outcome, Refusal)
    assert outcome.code == "infeasible"
    assert outcome.counts == {"field": "nodes", "value": 64, "expected": "give at most 18 nodes"}
    assert outcome.message == "nodes: 64 can never be placed here; give at most 18 nodes"


def test_many_jobs_are_accepted_together_in_the_order_given() -> None:
    world = World(racks(2))
    requests = (ask(4), ask(16), ask(gpus=2))
    wanted = tuple(JobSubmitted(request=request, submitted_by="ada") for request in requests)
    assert _events(world, SubmitJobs(requests=requests, by="ada")) == wanted
    assert [world.state.jobs[name].request for name in world.order()] == list(requests)


def test_one_job_that_can_never_be_placed_refuses_all_with_it() -> None:
    world = World(racks(1))
    requests = (ask(4), ask(64), ask(4), ask(32, slice_size=3), ask(64))
    assert _refusal(world, SubmitJobs(requests=requests, by="ada")) == (
        "infeasible",
        "jobs[1].nodes: 64 can never be placed here; give at most 18 nodes",
    )
    refused = never_fitting(world.state, requests)
    assert {place: refusal.counts["field"] for place, refusal in refused.items()} == {
        1: "jobs[1].nodes",
        3: "jobs[3].nodes",
        4: "jobs[4].nodes",
    }
    assert not world.state.jobs


def test_the_place_in_the_queue_follows_the_priority() -> None:
    world = World(racks(1))
    first, second, third = (world.submit(ask(16)) for _ in range(3))
    assert _events(world, ChangePriority(job=third, priority=5, by="ada")) == (JobChanged(job=third, priority=5),)
    _events(world, ChangePriority(job=first, priority=-1, by="ada"))
    assert world.order() == [third, second, first]
    world.settle()
    assert world.job(third).state is JobState.RUNNING
    assert (world.job(first).state, world.job(first).priority) == (JobState.WAITING, -1)


def test_a_held_job_comes_back_at_its_new_priority() -> None:
    world = World(racks(1))
    held, other = world.submit(ask(4, held=True)), world.submit(ask(4))
    _events(world, ChangePriority(job=held, priority=1, by="ada"))
    assert world.order() == [other]
    _events(world, ReleaseJob(job=held, by="ada"))
    assert world.order() == [held, other]


def test_a_running_job_keeps_what_it_has_whatever_its_priority() -> None:
    world = World(racks(1))
    job = world.run(ask(16))
    _events(world, ChangePriority(job=job.id, priority=-9, by="ada"))
    assert world.settle() == []
    assert (job.state, job.priority, world.order()) == (JobState.RUNNING, -9, [])


def test_a_priority_that_says_nothing_new_or_comes_too_late_is_refused() -> None:
    world = World(racks(1))
    job = world.run(ask(16))
    assert _refusal(world, ChangePriority(job=job.id, priority=0, by="ada")) == ("state", f"job {job.id} has priority 0 already")
    assert _refusal(world, ChangePriority(job=job.id, priority=1001, by="ada"))[0] == "invalid"
    _events(world, CancelJob(job=job.id, by="ada"))
    assert _refusal(world, ChangePriority(job=job.id, priority=1, by="ada"))[0] == "state"
    world.settle()
    assert _refusal(world, ChangePriority(job=job.id, priority=1, by="ada")) == ("state", f"job {job.id} has already been cancelled")
    assert _refusal(world, ChangePriority(job="j999999", priority=1, by="ada"))[0] == "unknown"


def test_a_waiting_job_is_cancelled_at_once() -> None:
    world = World(racks(1))
    name = world.submit(ask(4))
    assert _events(world, CancelJob(job=name, by="ada", reason="typo")) == (JobCancelled(job=name, reason="typo"),)
    assert _refusal(world, CancelJob(job=name, by="ada")) == ("state", f"job {name} has already been cancelled")
    assert world.run_pass() == []


def test_a_held_job_is_cancelled_at_once() -> None:
    world = World(racks(1))
    name = world.submit(ask(4, held=True))
    assert _events(world, CancelJob(job=name, by="ada")) == (JobCancelled(job=name, reason="cancelled by ada"),)


def test_a_running_job_is_cancelled_once_its_work_has_stopped() -> None:
    world = World(racks(1))
    job = world.run(ask(4))
    nodes = ("r1-n1", "r1-n2", "r1-n3", "r1-n4")
    assert _events(world, CancelJob(job=job.id, by="ada")) == (
        StopRequested(job=job.id, generation=1, nodes=nodes, after=AfterStop.CANCELLED, reason="cancelled by ada"),
    )
    assert _refusal(world, CancelJob(job=job.id, by="bob"))[0] == "state"
    assert world.run_pass() == []
    world.settle()
    assert world.state.ended[job.id] is JobState.CANCELLED


def test_a_job_that_is_being_preempted_can_still_be_cancelled() -> None:
    world = World(racks(1))
    job = world.run(ask(4))
    world.add(StopRequested(job=job.id, generation=1, nodes=tuple(job.held_nodes), after=AfterStop.WAITING, reason="room"))
    _events(world, CancelJob(job=job.id, by="ada"))
    world.settle()
    assert world.state.ended[job.id] is JobState.CANCELLED


def test_a_stalled_job_without_nodes_is_cancelled_at_once() -> None:
    world = World([("r1", "b1", "r1", 1, 4)])
    job = world.run(ask(1))
    world.mark("r1-n1", NodeVerb.FAIL)
    world.settle()
    assert job.state is JobState.STALLED
    assert _events(world, CancelJob(job=job.id, by="ada")) == (JobCancelled(job=job.id, reason="cancelled by ada"),)


@pytest.mark.parametrize("command", [CancelJob, HoldJob, ReleaseJob])
def test_ended_and_unknown_jobs_are_told_apart(command: type[CancelJob | HoldJob | ReleaseJob]) -> None:
    world = World(racks(1))
    finished, failed, stopping = (world.run(ask(1)).id for _ in range(3))
    world.finish(finished)
    world.add(JobFailed(job=failed, generation=1, reason="exit 1"), JobFinished(job=stopping, generation=1))
    assert _refusal(world, command(job=finished, by="ada")) == ("state", f"job {finished} has already finished")
    assert _refusal(world, command(job=failed, by="ada")) == ("state", f"job {failed} has already failed")
    assert _refusal(world, command(job=stopping, by="ada")) == ("state", f"job {stopping} has already finished")
    code, message = _refusal(world, command(job="j999999", by="ada"))
    assert code == "unknown"
    assert message.startswith("there is no job j999999")


def test_a_waiting_job_is_held_and_released() -> None:
    world = World(racks(1))
    name = world.submit(ask(4))
    assert _events(world, HoldJob(job=name, by="ada")) == (JobHeld(job=name, reason="held by ada"),)
    assert _refusal(world, HoldJob(job=name, by="ada")) == ("state", f"job {name} is held already")
    assert world.run_pass() == []
    assert _events(world, ReleaseJob(job=name, by="ada")) == (JobReleased(job=name, reason="released by ada"),)
    assert _refusal(world, ReleaseJob(job=name, by="ada")) == ("state", f"job {name} is waiting, not held")
    world.settle()
    assert _refusal(world, HoldJob(job=name, by="ada"))[1].startswith(f"job {name} is running; only a waiting job can be held")


def test_an_operator_fails_a_node_for_good_once() -> None:
    world = World(racks(1))
    fail = MarkNode(node="r1-n1", verb=NodeVerb.FAIL, by="op", reason="smoke")
    assert _events(world, fail) == (NodeFailed(node="r1-n1", reason="smoke", fencing=True),)
    assert _refusal(world, fail) == ("state", "node r1-n1 was marked failed already; mark it repaired first")


def test_an_operator_may_fail_what_only_a_probe_has_failed() -> None:
    world = World(racks(1))
    world.add(NodeFailed(node="r1-n1", reason="probe"))
    assert _events(world, MarkNode(node="r1-n1", verb=NodeVerb.FAIL, by="op"))
    assert world.state.nodes["r1-n1"].failures == 1


def test_a_node_is_repaired_whoever_failed_it() -> None:
    world = World(racks(1))
    world.add(NodeFailed(node="r1-n1", reason="probe"), RepairStarted(node="r1-n1"))
    _events(world, MarkNode(node="r1-n1", verb=NodeVerb.REPAIR, by="op"))
    assert world.state.nodes["r1-n1"].condition is Condition.HEALTHY
    assert _refusal(world, MarkNode(node="r1-n1", verb=NodeVerb.REPAIR, by="op")) == (
        "state",
        "node r1-n1 is healthy; nothing to repair",
    )


@pytest.mark.parametrize(
    ("verb", "undo", "condition", "again"),
    [
        (NodeVerb.DRAIN, NodeVerb.UNDRAIN, Condition.DRAINING, "node r1-n1 is draining already"),
        (NodeVerb.FAIL, NodeVerb.REPAIR, Condition.FAILED, "node r1-n1 was marked failed already; mark it repaired first"),
    ],
)
def test_marks_are_set_and_undone_once(verb: NodeVerb, undo: NodeVerb, condition: Condition, again: str) -> None:
    world = World(racks(1))
    node = world.state.nodes["r1-n1"]
    for _ in range(2):
        _events(world, MarkNode(node="r1-n1", verb=verb, by="op"))
        assert node.condition is condition
        assert _refusal(world, MarkNode(node="r1-n1", verb=verb, by="op")) == ("state", again)
        _events(world, MarkNode(node="r1-n1", verb=undo, by="op"))
        assert node.condition is Condition.HEALTHY
        assert _refusal(world, MarkNode(node="r1-n1", verb=undo, by="op"))[0] == "state"


def test_a_quarantine_is_released() -> None:
    world = World(racks(1))
    world.add(NodeQuarantined(node="r1-n1", owner="rule", reason="flaps", exit_rule="by hand"))
    _events(world, MarkNode(node="r1-n1", verb=NodeVerb.RELEASE, by="op"))
    assert world.state.nodes["r1-n1"].condition is Condition.HEALTHY
    assert _refusal(world, MarkNode(node="r1-n1", verb=NodeVerb.RELEASE, by="op")) == (
        "state",
        "node r1-n1 is not quarantined, and waits for no check",
    )


def test_an_unknown_node_is_refused() -> None:
    assert _refusal(World(racks(1)), MarkNode(node="x", verb=NodeVerb.FAIL, by="op")) == ("unknown", "there is no node x in this cluster")


def test_what_a_person_says_counts_though_the_wall_clock_was_set_back() -> None:
    world = World(racks(1))
    for world.now, verb in ((100, NodeVerb.FAIL), (110, NodeVerb.REPAIR), (120, NodeVerb.DRAIN), (130, NodeVerb.UNDRAIN)):
        world.mark("r1-n1", verb)
    job = world.run(ask(18, slice_size=18))
    world.now = 50
    world.mark("r1-n1", NodeVerb.FAIL)
    assert world.state.nodes["r1-n1"].condition is Condition.FAILED
    assert "r1-n1" not in job.held_nodes
    for world.now, verb in ((40, NodeVerb.REPAIR), (30, NodeVerb.DRAIN), (20, NodeVerb.UNDRAIN)):
        world.mark("r1-n1", verb)
    assert world.state.nodes["r1-n1"].condition is Condition.HEALTHY
