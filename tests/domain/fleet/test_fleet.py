"""Stories of a fleet, its log and the real decisions."""

from __future__ import annotations

import pytest

from clusters.connectors.simulated.failures import repair_time
from clusters.connectors.simulated.options import FleetOptions
from clusters.domain.commands import CancelJob, HoldJob, MarkNode, NodeVerb, ReleaseJob, SubmitJob
from clusters.domain.events import NewEvent
from clusters.domain.health_events import NodeFailed, RepairFinished, RepairStarted
from clusters.domain.ids import DAY, HOUR, MINUTE, SECOND
from clusters.domain.invariants import check
from clusters.domain.inventory_events import NodeRegistered, NodeRemoved
from clusters.domain.job_events import JobFinished, NodeSwapped, SliceMoved, WorkStarted, WorkStopped
from clusters.domain.jobs import JobRequest, JobState
from tests.domain.fleet.stage import NAME, START, Stage, ask

QUIET = FleetOptions(failures_per_node_day=0)


def submit(stage: Stage, request: JobRequest) -> str:
    number = len(stage.events)
    stage.do(SubmitJob(request=request, by="ada"), f"submit/{number}")
    return f"j{number + 1:06d}"


def fail(stage: Stage, node: str) -> None:
    stage.do(MarkNode(node=node, verb=NodeVerb.FAIL, by="op"), f"fail/{node}/{len(stage.events)}")


def nodes_of(stage: Stage, job: str) -> list[str]:
    with stage.log.live(NAME).reading() as state:
        return [node for part in state.jobs[job].slices for node in part.nodes if node is not None]


def state_of(stage: Stage, job: str) -> JobState:
    with stage.log.live(NAME).reading() as state:
        return state.jobs[job].state if job in state.jobs else state.ended[job]


@pytest.fixture
def stage() -> Stage:
    return Stage(2, QUIET)


def test_a_job_starts_after_the_launch_runs_for_its_time_and_gives_its_nodes_back(stage: Stage) -> None:
    job = submit(stage, ask(16, run_s=600))
    stage.play(START + DAY)
    assert [(at, type(payload)) for at, payload in stage.told("WorkStarted", "JobFinished", "WorkStopped")] == [
        (20, WorkStarted),
        (620, JobFinished),
        (620, WorkStopped),
    ]
    assert state_of(stage, job) is JobState.FINISHED


def test_a_cancelled_job_stops_within_its_grace(stage: Stage) -> None:
    job = submit(stage, ask(16))
    stage.play(START + 10 * MINUTE)
    stage.do(CancelJob(job=job, by="ada"), "cancel")
    stage.play(START + DAY)
    (stop,) = stage.told("WorkStopped")
    assert stop[0] == 20 + 10
    assert state_of(stage, job) is JobState.CANCELLED


def test_three_failures_of_one_rack_are_two_swaps_and_a_move_and_the_work_lasts_longer_by_what_was_lost(stage: Stage) -> None:
    job = submit(stage, ask(16, run_s=4 * 3600, checkpoint_interval_s=1800))
    stage.play(START + 20 * SECOND)
    for _ in range(3):
        fail(stage, nodes_of(stage, job)[0])
        stage.play(stage.driver.fleet.told_at + 60 * SECOND)
    assert [type(payload) for _, payload in stage.told("NodeSwapped", "SliceMoved")] == [NodeSwapped, NodeSwapped, SliceMoved]
    stage.play(START + DAY)
    ((ended, _),) = stage.told("JobFinished")
    assert 4 * 3600 + 20 + 3 * 20 <= ended < 4 * 3600 + 300
    assert state_of(stage, job) is JobState.FINISHED


def test_a_node_that_an_operator_calls_failed_is_repaired_by_the_fleet(stage: Stage) -> None:
    fail(stage, "r001-n05")
    stage.play(START + 100 * DAY)
    repair = repair_time(QUIET, "r001-n05", 1)
    told = stage.told("RepairStarted", "RepairFinished")
    assert [type(payload) for _, payload in told] == [RepairStarted, RepairFinished]
    assert told[1][0] == repair / SECOND
    with stage.log.live(NAME).reading() as state:
        assert state.nodes["r001-n05"].placeable


def test_an_operators_repair_ends_the_fleets_own(stage: Stage) -> None:
    fail(stage, "r001-n05")
    stage.do(MarkNode(node="r001-n05", verb=NodeVerb.REPAIR, by="op"), "repair")
    stage.play(START + 100 * DAY)
    assert [type(payload) for _, payload in stage.told("RepairStarted", "RepairFinished")] == [RepairFinished]


def test_what_a_feed_reports_without_fencing_stops_the_nodes_work(stage: Stage) -> None:
    job = submit(stage, ask(16))
    stage.play(START + MINUTE)
    node = nodes_of(stage, job)[3]
    stage.log.append_facts(NAME, [NewEvent(NodeFailed(node=node, reason="Xid 79"), START + HOUR // 2, "dcgm", "1")])
    stage.play(START + 40 * MINUTE)
    assert [payload for _, payload in stage.told("WorkStopped")] == [
        WorkStopped(job=job, generation=1, nodes=(node,), reason="its node failed")
    ]
    assert len(stage.told("NodeSwapped")) == 1


def test_work_placed_on_a_node_that_died_in_the_same_moment_is_told_dead_not_started(stage: Stage) -> None:
    job = submit(stage, ask(16))
    node = nodes_of(stage, job)[0]
    stage.log.append_facts(NAME, [NewEvent(NodeFailed(node=node, reason="Xid 79"), START, "dcgm", "1")])
    stage.restart()
    stage.play(START + HOUR)
    started = {name for _, payload in stage.told("WorkStarted") for name in getattr(payload, "nodes", ())}
    assert node not in started
    assert len(stage.told("NodeSwapped")) == 1


def test_a_removed_node_takes_its_work_with_it_and_a_new_one_can_fail(stage: Stage) -> None:
    job = submit(stage, ask(16))
    stage.play(START + MINUTE)
    node = nodes_of(stage, job)[0]
    new = NodeRegistered(node="r001-n99", rack="r001", domain="r001", gpus=4)
    facts = [NewEvent(NodeRemoved(node=node, reason="sold"), START + MINUTE, "op", "1"), NewEvent(new, START + MINUTE, "op", "2")]
    stage.log.append_facts(NAME, facts)
    stage.run_pass()
    fail(stage, "r001-n99")
    stage.play(START + 100 * DAY)
    assert state_of(stage, job) is JobState.FINISHED
    assert len(stage.told("RepairFinished")) == 1


def test_a_held_job_waits_until_it_is_released(stage: Stage) -> None:
    job = submit(stage, ask(16, held=True))
    stage.play(START + DAY)
    assert stage.told("WorkStarted") == []
    stage.do(ReleaseJob(job=job, by="ada"), "release")
    stage.play(START + 2 * DAY)
    assert state_of(stage, job) is JobState.FINISHED


def test_a_waiting_job_may_be_held(stage: Stage) -> None:
    first, second = submit(stage, ask(32)), submit(stage, ask(32))
    stage.do(HoldJob(job=second, by="ada"), "hold")
    stage.play(START + DAY)
    assert state_of(stage, first) is JobState.FINISHED
    assert state_of(stage, second) is JobState.HELD


def test_jobs_share_a_node_and_both_are_lost_with_it() -> None:
    stage = Stage(1, QUIET)
    jobs = [submit(stage, ask(gpus=2)) for _ in range(2)]
    stage.play(START + MINUTE)
    (node,) = {node for job in jobs for node in nodes_of(stage, job)}
    stage.log.append_facts(NAME, [NewEvent(NodeFailed(node=node, reason="fell"), START + MINUTE, "feed", "1")])
    stage.play(START + DAY)
    assert [state_of(stage, job) for job in jobs] == [JobState.FINISHED] * 2
    assert len(stage.told("SliceMoved")) == 2


def test_a_fleet_under_heavy_failures_keeps_every_invariant_and_loses_no_job() -> None:
    stage = Stage(4, FleetOptions(failures_per_node_day=0.3))
    jobs = [submit(stage, ask(nodes, run_s=20 * 3600)) for nodes in (16, 32, 2, 1)] + [submit(stage, ask(gpus=1, run_s=3600))]
    for _ in range(300):
        stage.step()
        with stage.log.live(NAME).reading() as state:
            assert check(state) == []
    assert {state_of(stage, job) for job in jobs} == {JobState.FINISHED}
    with stage.log.live(NAME).reading() as state:
        assert state.tally["swaps"] > 3


def test_a_node_that_was_removed_and_comes_back_fails_is_repaired_and_checked_like_any_other() -> None:
    stage = Stage(1, FleetOptions(failures_per_node_day=2.0))
    lives = 3
    for life in range(lives):
        stage.play(START + (2 * life + 1) * DAY)
        tell = stage.driver.fleet.told_at
        names = [f"r001-n{number:02d}" for number in range(1, 7)]
        stage.log.append_facts(NAME, [NewEvent(NodeRemoved(node=name, reason="sold"), tell, "user:op", f"{life}/{name}") for name in names])
        stage.play(START + (2 * life + 2) * DAY)
        back = [NodeRegistered(node=name, rack="r001", domain="r001", gpus=4) for name in names]
        stage.log.append_facts(NAME, [NewEvent(node, tell, "import", f"{life}/{node.node}") for node in back])
    stage.play(START + 2 * (lives + 1) * DAY)
    failures = [payload.node for _, payload in stage.told("NodeFailed") if isinstance(payload, NodeFailed)]
    assert failures.count("r001-n01") > lives
    assert len(stage.told("NodeChecked")) > lives
